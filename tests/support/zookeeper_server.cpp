#include "tests/support/zookeeper_server.hpp"

#include "tests/support/socket.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
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

/// Who asks while a server starts may never be answered: it asks again.
constexpr std::chrono::milliseconds short_patience{200};

/// The first jar names the others that it needs. The second one writes the log.
std::string class_path() {
  const char* given = std::getenv("PAWL_ZOOKEEPER_CLASSPATH");
  return given != nullptr ? given : "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";
}

std::string text(ZooKeeperOptions::Milliseconds time) { return std::to_string(time.count()); }

std::string value_after(const std::string& name, const std::string& lines) {
  const auto at = lines.find(name);
  if (at == std::string::npos) return {};
  const auto begin = at + name.size();
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

}  // namespace

ZooKeeperServer::ZooKeeperServer(ZooKeeperOptions options) : ZooKeeperServer(NotYet{}, std::move(options)) { start(); }

ZooKeeperServer::ZooKeeperServer(NotYet, ZooKeeperOptions options) : options_(std::move(options)) {}

void ZooKeeperServer::start() {
  launch([this] { return serves(); });
}

void ZooKeeperServer::write_files() const {
  std::filesystem::create_directories(folder() + "/data");
  std::ofstream out(folder() + "/zoo.cfg");
  out << "dataDir=" << folder() << "/data\n"
      << "clientPort=" << port() << "\nclientPortAddress=127.0.0.1\n"
      << "tickTime=" << text(options_.tick) << "\nminSessionTimeout=" << text(options_.min_session)
      << "\nmaxSessionTimeout=" << text(options_.max_session) << "\n"
      << "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n";
  for (const std::string& line : options_.config) out << line << "\n";
  if (!out.flush()) throw std::runtime_error("zoo.cfg cannot be written");
}

void ZooKeeperServer::launch(const std::function<bool()>& ready) {
  write_files();
  std::vector<std::string> command{"java",
                                   "-Xmx128m",
                                   "-XX:TieredStopAtLevel=1",
                                   "-XX:+UseSerialGC",
                                   "-Xshare:auto",
                                   "-XX:-UsePerfData",
                                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                   "-Dorg.slf4j.simpleLogger.showDateTime=true",
                                   "-Dznode.container.checkIntervalMs=" + text(options_.container_check),
                                   std::string("-Dzookeeper.forceSync=") + (options_.force_sync ? "yes" : "no")};
  command.insert(command.end(), options_.jvm.begin(), options_.jvm.end());
  const std::string main = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
  command.insert(command.end(), {"-cp", class_path(), main, folder() + "/zoo.cfg"});
  process_.start(command, folder(), ready);
}

bool ZooKeeperServer::serves() const { return !mode(short_patience).empty(); }

void ZooKeeperServer::wait_until_it_serves() const {
  if (wait_until([this] { return serves(); })) return;
  throw std::runtime_error("ZooKeeper does not serve; see " + folder() + "/server.log");
}

std::string ZooKeeperServer::four_letter(const std::string& word, std::chrono::milliseconds patience) const {
  return ask(port(), word, patience);
}

std::string ZooKeeperServer::mode(std::chrono::milliseconds patience) const {
  return value_after("Mode: ", four_letter("srvr", patience));
}

ZooKeeperServer& ZooKeeperServer::shared() {
  static ZooKeeperServer server;
  return server;
}

ZooKeeperEnsemble::ZooKeeperEnsemble(const ZooKeeperOptions& options) {
  for (std::size_t i = 0; i < size; ++i) {
    members_[i].server.reset(new ZooKeeperServer(ZooKeeperServer::NotYet{}, options_of(i, options)));
    const std::string data = members_[i].server->folder() + "/data";
    std::filesystem::create_directories(data);
    std::ofstream(data + "/myid") << i + 1 << "\n";
    members_[i].server->launch([] { return true; });
  }
  wait_until_they_serve();
}

/// What was asked for comes after ours: of two, the last one counts.
ZooKeeperOptions ZooKeeperEnsemble::options_of(std::size_t i, ZooKeeperOptions options) const {
  const auto ticks = [&options](std::chrono::milliseconds time) {
    return std::to_string(std::max<std::int64_t>(time / options.tick, 1));
  };
  std::vector<std::string> config{"initLimit=" + ticks(20s), "syncLimit=" + ticks(options.sync_limit)};
  for (std::size_t k = 0; k < size; ++k) {
    config.push_back("server." + std::to_string(k + 1) + "=127.0.0.1:" + std::to_string(members_[k].quorum.number()) +
                     ":" + std::to_string(members_[k].election.number()));
  }
  // All that it connects to goes through its proxy. Whoever was out of reach is to notice soon that it no longer is.
  const std::vector<std::string> jvm{
      "-DsocksProxyHost=127.0.0.1", "-DsocksProxyPort=" + std::to_string(members_[i].proxy.port()),
      "-DsocksNonProxyHosts=", "-Dzookeeper.cnxTimeout=1000", "-Dzookeeper.fastleader.maxNotificationInterval=500",
      // A follower tries five times: a leader on a busy machine may need longer than 400 ms to open its port.
      "-Dzookeeper.leaderConnectDelayDuringRetryMs=500"};
  options.config.insert(options.config.begin(), config.begin(), config.end());
  options.jvm.insert(options.jvm.begin(), jvm.begin(), jvm.end());
  return options;
}

std::string ZooKeeperEnsemble::url(const std::string& rest) const {
  std::string hosts;
  for (const Member& member : members_) hosts += (hosts.empty() ? "" : ",") + member.server->address();
  return "zookeeper://" + hosts + rest;
}

std::size_t ZooKeeperEnsemble::wait_for(const std::string& mode) const {
  std::size_t found = size;
  const auto look = [&] {
    for (found = 0; found < size; ++found) {
      if (members_[found].takes_part() && members_[found].server->mode(short_patience) == mode) return true;
    }
    return false;
  };
  if (!wait_until(look)) throw std::runtime_error("no ZooKeeper is a " + mode);
  return found;
}

std::size_t ZooKeeperEnsemble::leader() const { return wait_for("leader"); }

std::size_t ZooKeeperEnsemble::follower() const { return wait_for("follower"); }

void ZooKeeperEnsemble::wait_until_they_serve() const {
  for (const Member& member : members_) {
    if (member.takes_part()) member.server->wait_until_it_serves();
  }
}

void ZooKeeperEnsemble::kill(std::size_t i) {
  members_.at(i).server->kill();
  members_[i].stopped = false;
}

void ZooKeeperEnsemble::stop(std::size_t i) {
  members_.at(i).server->stop();
  members_[i].stopped = true;
}

void ZooKeeperEnsemble::go_on(std::size_t i) {
  members_.at(i).server->go_on();
  members_[i].stopped = false;
}

void ZooKeeperEnsemble::start(std::size_t i) {
  Member& member = members_.at(i);
  member.server->launch([] { return true; });
  const auto there =
      std::count_if(members_.begin(), members_.end(), [](const Member& one) { return one.takes_part(); });
  if (member.takes_part() && there > 1) member.server->wait_until_it_serves();
}

void ZooKeeperEnsemble::cut(std::size_t i) {
  members_.at(i).cut = true;
  tell_proxies();
}

void ZooKeeperEnsemble::heal(std::size_t i) {
  members_.at(i).cut = false;
  tell_proxies();
}

void ZooKeeperEnsemble::tell_proxies() {
  for (Member& from : members_) {
    std::set<std::uint16_t> silent;
    for (const Member& to : members_) {
      if (&from != &to && (from.cut || to.cut)) silent.insert({to.quorum.number(), to.election.number()});
    }
    from.proxy.silence(std::move(silent));
  }
}

ZooKeeperEnsemble& ZooKeeperEnsemble::shared() {
  static ZooKeeperEnsemble ensemble;
  return ensemble;
}

}  // namespace pawl::test
