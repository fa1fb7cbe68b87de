#include "store/net/srv.hpp"

#include "base/lock_name.hpp"
#include "base/wakeup.hpp"

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <utility>

namespace pawl::store::net {

namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t largest_answer = 65536;

/// Reads a DNS message from its beginning to its end. Once something is wrong, everything is.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  std::uint16_t number() {
    if (!have(2)) return 0;
    const auto high = static_cast<std::uint8_t>(bytes_[at_]);
    const auto low = static_cast<std::uint8_t>(bytes_[at_ + 1]);
    at_ += 2;
    return static_cast<std::uint16_t>(high << 8U | low);
  }
  void skip(std::size_t size) {
    if (have(size)) at_ += size;
  }
  /// Names may point back to others.
  std::string name() {
    std::array<char, NS_MAXDNAME> text{};
    const auto* const begin = reinterpret_cast<const unsigned char*>(bytes_.data());
    const int size = good_ ? ::dn_expand(begin, begin + bytes_.size(), begin + at_, text.data(), text.size()) : -1;
    good_ = size >= 0;
    if (good_) at_ += static_cast<std::size_t>(size);
    return good_ ? text.data() : "";
  }

 private:
  bool have(std::size_t size) {
    good_ = good_ && bytes_.size() - at_ >= size;
    return good_;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

Error not_found(const std::string& name, const std::string& why) {
  return {Errc::store_unavailable, "the SRV records of " + base::printable(name, 300) + " cannot be looked up: " + why};
}

/// The resolver's state, of one look-up.
class Resolver {
 public:
  explicit Resolver(const std::optional<sockaddr_in>& dns) : good_(::res_ninit(&state_) == 0) {
    if (!good_ || !dns) return;
    state_.nscount = 1;
    state_.nsaddr_list[0] = *dns;
  }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver() {
    if (good_) ::res_nclose(&state_);
  }

  Result<std::vector<SrvRecord>> ask(const std::string& name) {
    if (!good_) return not_found(name, "the resolver has no configuration");
    std::string answer(largest_answer, '\0');
    const int size = ::res_nquery(&state_, name.c_str(), ns_c_in, ns_t_srv,
                                  reinterpret_cast<unsigned char*>(answer.data()), static_cast<int>(answer.size()));
    const int why = state_.res_h_errno;
    if (size < 0 && (why == HOST_NOT_FOUND || why == NO_DATA)) return std::vector<SrvRecord>();
    if (size < 0) return not_found(name, ::hstrerror(why));
    return read_srv_answer(std::string_view(answer).substr(0, static_cast<std::size_t>(size)));
  }

 private:
  struct __res_state state_ {};
  const bool good_;
};

/// Shared with the thread that looks it up: nobody may be waiting any more when it comes back.
struct SrvLookUp {
  explicit SrvLookUp(base::Runtime& runtime) : done(runtime) {}
  std::optional<Result<std::vector<SrvRecord>>> result;
  base::Wakeup done;
};

base::awaitable<void> ask_elsewhere(base::Runtime& runtime, std::string name, std::optional<sockaddr_in> dns,
                                    std::shared_ptr<SrvLookUp> look) {
  const auto result = std::make_shared<std::optional<Result<std::vector<SrvRecord>>>>();
  const std::function<void()> work = [name, dns, result] { result->emplace(Resolver(dns).ask(name)); };
  const std::string lane = "name " + name;
  try {
    co_await runtime.offload(lane, work);
  } catch (const std::system_error& error) {
    result->emplace(not_found(name, error.what()));
  }
  look->result = std::move(*result);
  look->done.notify();
}

}  // namespace

Result<std::vector<SrvRecord>> read_srv_answer(std::string_view bytes) {
  Message message(bytes.substr(0, bytes.size()));
  if (bytes.size() < header_size) return Error{Errc::store_unavailable, "the DNS answer is too short"};
  message.skip(4);
  const int questions = message.number();
  const int answers = message.number();
  message.skip(4);
  for (int i = 0; i < questions && message.good(); ++i) {
    message.name();
    message.skip(4);
  }
  std::vector<SrvRecord> records;
  for (int i = 0; i < answers && message.good(); ++i) {
    message.name();
    const int type = message.number();
    message.skip(6);
    const std::uint16_t size = message.number();
    if (type != ns_t_srv) {
      message.skip(size);
      continue;
    }
    SrvRecord record;
    record.priority = message.number();
    record.weight = message.number();
    record.port = message.number();
    record.host = message.name();
    if (message.good() && !record.host.empty()) records.push_back(std::move(record));  // an empty one: no such service
  }
  if (!message.good()) return Error{Errc::store_unavailable, "the DNS answer is damaged"};
  return records;
}

std::vector<Address> in_order(std::vector<SrvRecord> records, const std::function<std::uint64_t()>& random) {
  std::stable_sort(records.begin(), records.end(),
                   [](const SrvRecord& one, const SrvRecord& other) { return one.priority < other.priority; });
  std::vector<Address> addresses;
  while (!records.empty()) {
    std::uint64_t sum = 0;
    const auto same = [&](const SrvRecord& record) { return record.priority == records.front().priority; };
    const auto end = std::find_if_not(records.begin(), records.end(), same);
    for (auto it = records.begin(); it != end; ++it) sum += it->weight + std::uint64_t{1};
    std::uint64_t drawn = random() % sum;
    auto chosen = records.begin();
    for (; drawn > chosen->weight; ++chosen) drawn -= chosen->weight + std::uint64_t{1};
    addresses.push_back({.host = chosen->host, .port = chosen->port});
    records.erase(chosen);
  }
  return addresses;
}

base::awaitable<Result<std::vector<Address>>> look_up_srv(base::Runtime& runtime, std::string name,
                                                          base::Deadline deadline, std::optional<sockaddr_in> dns) {
  const auto look = std::make_shared<SrvLookUp>(runtime);
  base::spawn(runtime, ask_elsewhere(runtime, name, dns, look));
  co_await look->done.wait(deadline.at);
  if (!look->result) co_return not_found(name, "no answer in time");
  if (!*look->result) co_return look->result->error();
  const std::function<std::uint64_t()> random = [&runtime] { return runtime.random(); };
  co_return in_order(std::move(**look->result), random);
}

}  // namespace pawl::store::net
