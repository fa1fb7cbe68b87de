#include "tests/support/etcd_server.hpp"

#include "tests/support/socket.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace pawl::test {

namespace {

using namespace std::chrono_literals;

/// False when it hangs. Not in a hurry: a starting server needs the processor more than we do.
template <class Condition>
bool wait_until(Condition so) {
  for (const auto end = std::chrono::steady_clock::now() + 300s; std::chrono::steady_clock::now() < end;) {
    if (so()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// What a server with TLS answers with an alert: a record of a handshake that is none.
const std::string no_handshake("\x16\x03\x01\x00\x05hello", 10);

/// A question to a starting server may never be answered: it is asked again.
constexpr std::chrono::milliseconds short_patience{500};

std::string program(const char* variable, const char* usual) {
  const char* given = std::getenv(variable);
  return given != nullptr ? given : usual;
}

/// What a shell takes for one word.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

struct Ended {
  int status;
  std::string out;
};

Ended run(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += quoted(word) + " ";
  FILE* const pipe = ::popen((command + "2>&1 </dev/null").c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("cannot be run: " + command);
  Ended ended{};
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    ended.out.append(buffer.data(), size);
  }
  ended.status = ::pclose(pipe);
  return ended;
}

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t there = std::min<std::size_t>(bytes.size() - at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < there ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= there ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = digits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255U);
  }
  return bytes;
}

/// What stands for `name` in a flat JSON object; empty: it is not there, or it is empty. Numbers are texts there as well.
std::string field(std::string_view object, const std::string& name) {
  const std::string start = "\"" + name + "\":\"";
  const auto at = object.find(start);
  if (at == std::string_view::npos) return {};
  const auto begin = at + start.size();
  return std::string(object.substr(begin, object.find('"', begin) - begin));
}

std::int64_t number(std::string_view object, const std::string& name) {
  const std::string text = field(object, name);
  return text.empty() ? 0 : static_cast<std::int64_t>(std::stoull(text));
}

/// The flat objects of a list.
std::vector<std::string> objects(std::string_view json, const std::string& list) {
  std::vector<std::string> all;
  auto at = json.find("\"" + list + "\":[");
  if (at == std::string_view::npos) return all;
  for (at = json.find('[', at) + 1; at < json.size() && json[at] == '{';) {
    const auto end = json.find('}', at);
    all.emplace_back(json.substr(at, end - at + 1));
    at = end + 2;
  }
  return all;
}

/// Newer servers put spaces between a name and its value, or do not: that is random. Our own text is in base64.
std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  if (at == std::string::npos) return "";
  std::string body = answer.substr(at + 4);
  std::erase(body, ' ');
  return body;
}

std::string after_last_of(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// An address that is not the loopback one, for which Go's programs would not ask a proxy. Ours takes it for that.
std::string peer_url(const Port& port) { return "http://10.255.255.1:" + std::to_string(port.number()); }

}  // namespace

EtcdServer::EtcdServer(EtcdOptions options) : EtcdServer(NotYet{}, std::move(options), {}) {
  const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_.number());
  // Alone, it need not wait for others before it leads. Of two flags, the last one counts.
  const std::vector<std::string> alone{"--name",
                                       "alone",
                                       "--initial-cluster",
                                       "alone=" + peer,
                                       "--initial-advertise-peer-urls",
                                       peer,
                                       "--heartbeat-interval",
                                       "10",
                                       "--election-timeout",
                                       "100"};
  options_.flags.insert(options_.flags.begin(), alone.begin(), alone.end());
  start();
}

EtcdServer::EtcdServer(NotYet, EtcdOptions options, std::vector<std::string> environment)
    : options_(std::move(options)), environment_(std::move(environment)) {}

void EtcdServer::start() {
  launch([this] { return options_.tls ? answers(port(), no_handshake) : serves(short_patience); });
}

void EtcdServer::launch(const std::function<bool()>& ready) {
  const std::string url = (options_.tls ? "https://" : "http://") + address();
  std::vector<std::string> command = environment_;
  command.insert(command.end(), {program("PAWL_ETCD", "etcd"), "--data-dir", folder() + "/data", "--listen-client-urls",
                                 url, "--advertise-client-urls", url, "--listen-peer-urls",
                                 "http://127.0.0.1:" + std::to_string(peer_port_.number()), "--logger", "zap"});
  if (!options_.fsync) command.emplace_back("--unsafe-no-fsync");
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  process_.start(command, folder(), ready);
}

std::string EtcdServer::url(const std::string& query) const {
  return (options_.tls ? "etcd+tls://" : "etcd://") + address() + query;
}

std::vector<std::string> EtcdServer::ctl_command(const std::vector<std::string>& words, std::uint16_t at) const {
  std::vector<std::string> command{"env", "ETCDCTL_API=3", program("PAWL_ETCDCTL", "etcdctl"), "--endpoints",
                                   (options_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(at)};
  command.insert(command.end(), options_.ctl.begin(), options_.ctl.end());
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::string EtcdServer::ctl(const std::vector<std::string>& words, std::uint16_t through) const {
  return run(ctl_command(words, through == 0 ? port() : through)).out;
}

std::string EtcdServer::must_ctl(const std::vector<std::string>& words) const {
  Ended ended = run(ctl_command(words, port()));
  if (ended.status != 0) throw std::runtime_error("etcdctl " + words.front() + ": " + ended.out);
  return std::move(ended.out);
}

std::string EtcdServer::gateway(const std::string& path, const std::string& body, Milliseconds patience) const {
  const std::string head = "POST /v3/" + path + " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ";
  return body_of(ask(port(), head + std::to_string(body.size()) + "\r\n\r\n" + body, patience));
}

std::vector<EtcdRecord> EtcdServer::records(const std::string& prefix) const {
  const std::string from = prefix.empty() ? std::string(1, '\0') : prefix;
  const std::string range =
      R"({"key":")" + to_base64(from) + R"(","range_end":")" + to_base64(after_last_of(prefix)) + R"("})";
  const std::string answer = gateway("kv/range", range);
  if (answer.find("\"header\"") == std::string::npos) throw std::runtime_error("etcd does not list: " + answer);
  std::vector<EtcdRecord> all;
  for (const std::string& object : objects(answer, "kvs")) {
    all.push_back({from_base64(field(object, "key")), from_base64(field(object, "value")),
                   number(object, "create_revision"), number(object, "mod_revision"), number(object, "lease")});
  }
  return all;
}

std::vector<std::int64_t> EtcdServer::leases() const {
  std::vector<std::int64_t> all;
  for (const std::string& object : objects(gateway("lease/leases", "{}"), "leases"))
    all.push_back(number(object, "ID"));
  return all;
}

std::optional<std::int64_t> EtcdServer::seconds_left(std::int64_t lease) const {
  const std::string answer = gateway("lease/timetolive", R"({"ID":")" + std::to_string(lease) + R"("})");
  const std::string left = field(answer, "TTL");
  if (left.empty()) return answer.empty() ? std::nullopt : std::optional<std::int64_t>(0);
  if (left.front() == '-') return std::nullopt;
  return std::stoll(left);
}

void EtcdServer::revoke(std::int64_t lease) const {
  const std::string answer = gateway("lease/revoke", R"({"ID":")" + std::to_string(lease) + R"("})");
  if (answer.find("\"header\"") == std::string::npos) throw std::runtime_error("the lease is not revoked: " + answer);
}

void EtcdServer::put(const std::string& key, const std::string& value, bool keeps_lease) const {
  gateway("kv/put", R"({"key":")" + to_base64(key) + R"(","value":")" + to_base64(value) +
                        (keeps_lease ? R"(","ignore_lease":true})" : R"("})"));
}

bool EtcdServer::txn(const std::vector<Condition>& conditions, const std::vector<Put>& puts) const {
  std::string compare, success;
  for (const Condition& one : conditions) {
    compare += (compare.empty() ? "" : ",") + (R"({"target":"VALUE","result":")" + one.result) + R"(","key":")" +
               to_base64(one.key) + R"(","value":")" + to_base64(one.value) + R"("})";
  }
  for (const Put& one : puts) {
    success += (success.empty() ? "" : ",") + (R"({"requestPut":{"key":")" + to_base64(one.key)) + R"(","value":")" +
               to_base64(one.value) + R"("}})";
  }
  const std::string answer = gateway("kv/txn", R"({"compare":[)" + compare + R"(],"success":[)" + success + "]}");
  if (answer.find("\"header\"") == std::string::npos) throw std::runtime_error("no transaction: " + answer);
  return answer.find(R"("succeeded":true)") != std::string::npos;
}

std::int64_t EtcdServer::revision() const {
  return number(gateway("kv/range", R"({"key":")" + to_base64("-") + R"("})"), "revision");
}

std::array<int, 3> EtcdServer::version() const {
  const std::string told = field(body_of(ask(port(), "GET /version HTTP/1.0\r\n\r\n", patience_)), "etcdserver");
  std::array<int, 3> version{};
  if (std::sscanf(told.c_str(), "%d.%d.%d", &version[0], &version[1], &version[2]) != 3) {
    throw std::runtime_error("etcd does not tell its version: " + told);
  }
  return version;
}

void EtcdServer::compact() const {
  gateway("kv/compaction", R"({"revision":")" + std::to_string(revision()) + R"(","physical":true})");
}

bool EtcdServer::serves(Milliseconds patience) const {
  return ask(port(), "GET /health HTTP/1.0\r\n\r\n", patience).find(R"("health":"true")") != std::string::npos;
}

void EtcdServer::snapshot(const std::string& file) const { must_ctl({"snapshot", "save", file}); }

void EtcdServer::restore(const std::string& file, const std::string& token) {
  kill();
  std::filesystem::remove_all(folder() + "/data");
  std::vector<std::string> words{"snapshot", "restore", file, "--data-dir", folder() + "/data"};
  const std::vector<std::string>& flags = options_.flags;
  for (const char* same : {"--name", "--initial-cluster", "--initial-advertise-peer-urls"}) {
    const auto found = std::find(flags.begin(), flags.end(), same);
    words.insert(words.end(), {*found, *(found + 1)});
  }
  if (!token.empty()) words.insert(words.end(), {"--initial-cluster-token", token});
  // Since etcd 3.6 this is etcdutl's.
  words.insert(words.begin(), program("PAWL_ETCDUTL", program("PAWL_ETCDCTL", "etcdctl").c_str()));
  words.insert(words.begin(), {"env", "ETCDCTL_API=3"});
  const Ended ended = run(words);
  if (ended.status != 0) throw std::runtime_error("the snapshot is not restored: " + ended.out);
  start();
}

EtcdServer& EtcdServer::shared() {
  static EtcdServer server;
  return server;
}

EtcdCluster::EtcdCluster(const EtcdOptions& options) {
  for (Member& member : members_) {
    const std::string proxy = "HTTP_PROXY=socks5://127.0.0.1:" + std::to_string(member.proxy.port());
    const std::vector<std::string> environment{"env", "-u", "NO_PROXY", "-u", "no_proxy", "-u", "http_proxy", proxy};
    member.server.reset(new EtcdServer(EtcdServer::NotYet{}, options, environment));
  }
  std::string all;
  for (std::size_t i = 0; i < size; ++i) {
    all += (i == 0 ? "m" : ",m") + std::to_string(i) + "=" + peer_url(members_[i].server->peer_port_);
  }
  for (std::size_t i = 0; i < size; ++i) {
    EtcdServer& server = *members_[i].server;
    const std::vector<std::string> ours{"--name", "m" + std::to_string(i),         "--initial-cluster",
                                        all,      "--initial-advertise-peer-urls", peer_url(server.peer_port_)};
    server.options_.flags.insert(server.options_.flags.begin(), ours.begin(), ours.end());
    server.launch([] { return true; });
  }
  wait_until_they_serve();
}

std::string EtcdCluster::url(const std::string& query) const {
  std::string hosts;
  for (const Member& member : members_) hosts += (hosts.empty() ? "" : ",") + member.server->address();
  return (members_[0].server->options_.tls ? "etcd+tls://" : "etcd://") + hosts + query;
}

/// One that was deposed while it could not notice may still take itself for the leader, of an older term.
std::optional<std::size_t> EtcdCluster::find_leader() const {
  std::optional<std::size_t> found;
  std::int64_t newest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!members_[i].takes_part()) continue;
    const std::string status = members_[i].server->gateway("maintenance/status", "{}", short_patience);
    const std::int64_t term = number(status, "raftTerm");
    const bool leads = !field(status, "leader").empty() && field(status, "leader") == field(status, "member_id");
    if (term < newest || (term == newest && !leads)) continue;
    newest = term;
    found = leads ? std::optional(i) : std::nullopt;
  }
  return found;
}

std::size_t EtcdCluster::leader() const {
  std::optional<std::size_t> found;
  const auto look = [&] {
    found = find_leader();
    return found.has_value();
  };
  if (!wait_until(look)) throw std::runtime_error("no etcd leads");
  return *found;
}

std::uint64_t EtcdCluster::term() const {
  const std::string status = members_[leader()].server->gateway("maintenance/status", "{}");
  return static_cast<std::uint64_t>(number(status, "raftTerm"));
}

std::size_t EtcdCluster::follower() const {
  const std::size_t leading = leader();
  for (std::size_t i = 0; i < size; ++i) {
    if (i != leading && members_[i].takes_part()) return i;
  }
  throw std::runtime_error("no etcd follows");
}

void EtcdCluster::wait_until_they_serve() const {
  for (const Member& member : members_) {
    if (!member.takes_part()) continue;
    if (wait_until([&] { return member.server->serves(short_patience); })) continue;
    throw std::runtime_error("etcd does not serve; see " + member.server->folder() + "/server.log");
  }
}

void EtcdCluster::kill(std::size_t i) {
  members_.at(i).server->kill();
  members_[i].stopped = false;
}

void EtcdCluster::stop(std::size_t i) {
  members_.at(i).server->stop();
  members_[i].stopped = true;
}

void EtcdCluster::go_on(std::size_t i) {
  members_.at(i).server->go_on();
  members_[i].stopped = false;
}

void EtcdCluster::start(std::size_t i) {
  Member& member = members_.at(i);
  member.server->launch([] { return true; });
  const auto there =
      std::count_if(members_.begin(), members_.end(), [](const Member& one) { return one.takes_part(); });
  if (!member.takes_part() || there < 2) return;
  if (!wait_until([&] { return member.server->serves(short_patience); })) {
    throw std::runtime_error("etcd does not serve; see " + member.server->folder() + "/server.log");
  }
}

void EtcdCluster::cut(std::size_t i) {
  members_.at(i).cut = true;
  tell_proxies();
}

void EtcdCluster::heal(std::size_t i) {
  members_.at(i).cut = false;
  tell_proxies();
}

void EtcdCluster::tell_proxies() {
  for (Member& from : members_) {
    std::set<std::uint16_t> silent;
    for (const Member& to : members_) {
      if (&from != &to && (from.cut || to.cut)) silent.insert(to.server->peer_port_.number());
    }
    from.proxy.silence(std::move(silent));
  }
}

EtcdCluster& EtcdCluster::shared() {
  static EtcdCluster cluster;
  return cluster;
}

}  // namespace pawl::test
