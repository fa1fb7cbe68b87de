// Requests and answers that get lost between a client and its Redis server, and bad weather on the way. Whatever happens:
// one holder at a time, no lock left behind, larger tokens, honest errors, and work goes on.

#include "store/redis/script.hpp"
#include "tests/contract/diary.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }
inline void PrintTo(HoldState state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(const Token& token, std::ostream* out) { *out << token.to_string(); }

namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Fault;
using test::Proxy;
using test::RedisServer;
using testing::AnyOf;
using testing::HasSubstr;

constexpr auto hang = 120s;

std::map<std::string, const store::redis::Script*> scripts_of(const std::string& scheme) {
  const store::redis::QueueScripts& all = store::redis::queue_scripts();
  std::map<std::string, const store::redis::Script*> scripts{{"claim", &all.claim},
                                                             {"withdraw", &all.withdraw},
                                                             {"look", &all.look},
                                                             {"downgrade", &all.downgrade},
                                                             {"relabel", &all.relabel},
                                                             {"revoke", &all.revoke},
                                                             {"inspect", &all.inspect},
                                                             {"check", &all.check},
                                                             {"succession", &all.succession},
                                                             {"open_session", &all.open_session},
                                                             {"renew", &all.renew},
                                                             {"close_session", &all.close_session},
                                                             {"session_claims", &all.session_claims},
                                                             {"meta", &store::redis::meta_script()}};
  if (scheme == "queue") return scripts;
  const store::redis::KeyScripts& own = store::redis::key_scripts();
  scripts["claim"] = &own.claim;
  scripts["inspect"] = &own.inspect;
  scripts["check"] = &own.check;
  return scripts;
}

test::Framing framing() {
  std::map<std::string, std::string> names;
  for (const char* scheme : {"queue", "simple"}) {
    for (const auto& [name, script] : scripts_of(scheme)) names[script->sha1] = names[script->text] = name;
  }
  return test::redis_framing(std::move(names));
}

/// A plain connection to a server, for what is said byte by byte.
class Wire {
 public:
  explicit Wire(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = test::loopback(port);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect");
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { ::close(fd_); }

  void say(const std::vector<std::string>& words) const {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    ASSERT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// The next reply, as it is; empty: the connection was closed.
  std::string hear() {
    static const test::Framing frames = framing();
    std::array<char, 4096> buffer;
    for (;;) {
      const std::size_t size = frames.reply(heard_);
      if (size > 0) {
        const std::string reply = heard_.substr(0, size);
        heard_.erase(0, size);
        return reply;
      }
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return {};
      heard_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  const int fd_;
  std::string heard_;
};

void load_scripts(const RedisServer& server, const std::string& scheme) {
  Wire wire(server.port());
  for (const auto& [name, script] : scripts_of(scheme)) {
    wire.say({"SCRIPT", "LOAD", script->text});
    ASSERT_THAT(wire.hear(), HasSubstr(script->sha1)) << name;
  }
}

/// A server that has a replica.
struct Pair {
  RedisServer master;
  RedisServer replica{{"--replicaof", "127.0.0.1 " + std::to_string(master.port())}};

  static Pair& shared() {
    static Pair pair;
    return pair;
  }
};

bool honest(Errc code) { return code == Errc{} || code == Errc::outcome_unknown || code == Errc::store_unavailable; }

class Faults;

/// Who sends the request, and when.
struct Scene {
  const char* name;
  const char* request;
  void (Faults::*play)();
};

struct Case {
  std::string scheme;
  Scene scene;
  Fault fault;
};

std::string name_of(const Case& it) {
  const std::string ends = it.fault == Fault::lose_request ? "_is_lost"
                           : it.fault == Fault::lose_reply ? "_loses_its_answer"
                                                           : "_is_answered_with_silence";
  return it.scheme + "_" + it.scene.name + ends;
}

void PrintTo(const Case& it, std::ostream* out) { *out << name_of(it); }

/// Alice comes through the proxy, bob does not.
class Faults : public testing::TestWithParam<Case> {
 public:
  // The scenes. Each arms the proxy, and makes alice send the request.

  void claim() {
    arm();
    release_alone(alice_lock().acquire({.wait = hang}));
  }
  void claim_by_text() {
    server().cli({"SCRIPT", "FLUSH"});
    claim();
  }
  void claim_of_a_try() {
    arm();
    release_alone(alice_lock().try_acquire());
  }
  void claim_of_a_waiter() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    arm();
    auto wait = wait_for_lock();
    ASSERT_TRUE(strikes());
    ASSERT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.size() == 1; }));
    EXPECT_TRUE(bobs.valid());
    note(bobs);
    EXPECT_TRUE(bobs.release());
    release_alone(wait.get());
  }
  void claim_of_one_who_gives_up() {
    const Hold bobs = bob_lock().acquire({.wait = hang}).value();
    arm();
    EXPECT_EQ(alice_lock().acquire({.wait = 200ms}).code(), Errc::timed_out);
    EXPECT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.empty(); }));
    EXPECT_TRUE(bobs.valid());
    note(bobs);
  }
  void withdraw() {
    Hold hold = alice_lock().acquire({.wait = hang}).value();
    note(hold);
    arm();
    EXPECT_TRUE(fine(hold.release()));
  }
  void withdraw_of_a_waiter() {
    const Hold bobs = bob_lock().acquire({.wait = hang}).value();
    std::stop_source stop;
    auto wait = wait_for_lock(stop.get_token());
    ASSERT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.size() == 1; }));
    arm();
    stop.request_stop();
    EXPECT_EQ(wait.get().code(), Errc::cancelled);
    EXPECT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.empty(); }));
    EXPECT_TRUE(bobs.valid());
    note(bobs);
  }
  void withdraw_before_another() {
    Hold hold = alice_lock().acquire({.wait = hang}).value();
    note(hold);
    auto bobs = std::async(std::launch::async, [&] { return bob_lock().acquire({.wait = hang}); });
    ASSERT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.size() == 1; }));
    arm();
    EXPECT_TRUE(fine(hold.release()));
    const Result<Hold> next = bobs.get();
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_TRUE(next->valid());
    EXPECT_EQ(bob().inspect("job").value().holders.at(0).token, next->token());
    note(*next);
  }
  void renew() {
    Result<Hold> hold = alice_lock().acquire({.wait = hang});
    arm();
    ASSERT_TRUE(strikes());
    const std::uint64_t renewals = alice().metrics().renewals;
    EXPECT_TRUE(eventually([&] { return alice().metrics().renewals > renewals; }));
    EXPECT_EQ(alice().metrics().sessions_opened, 1U);
    release_alone(std::move(hold));
  }
  void look() {
    Result<Hold> hold = alice_lock().acquire({.wait = hang});
    arm();
    EXPECT_TRUE(bob().revoke("job"));
    ASSERT_TRUE(strikes());
    EXPECT_TRUE(eventually([&] { return proxy().seen("EVALSHA look") >= 2; })) << "it looks again";
    EXPECT_TRUE(hold->release_requested().stop_requested());
    release_alone(std::move(hold));
  }
  void relabel() {
    // It may come too late to be passed on: then once more.
    for (int tries = 0; tries < 100 && proxy().happened() == 0; ++tries) {
      if (tries == 0) arm();
      Hold one = alice_lock().acquire({.wait = hang, .label = "one"}).value();
      auto wait = std::async(std::launch::async, [&] { return alice_lock().acquire({.wait = hang, .label = "two"}); });
      std::this_thread::sleep_for(tries * 2ms);
      EXPECT_TRUE(one.release());
      Result<Hold> two = wait.get();
      ASSERT_TRUE(two) << two.error().to_string();
      release_alone(std::move(two));
    }
  }
  void revoke() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    note(bobs);
    arm();
    const Errc code = alice().revoke("job", {.now = true}).code();
    EXPECT_TRUE(honest(code)) << to_string(code);
    const bool applied = GetParam().fault != Fault::lose_request;
    if (applied) {
      EXPECT_TRUE(eventually([&] { return bobs.lost().stop_requested(); }));
    } else {
      EXPECT_NE(code, Errc{});
      EXPECT_TRUE(bobs.release());
    }
  }
  void inspect() {
    const Hold bobs = bob_lock().acquire({.wait = hang}).value();
    note(bobs);
    arm();
    EXPECT_TRUE(honest(alice().inspect("job").code()));
    EXPECT_EQ(alice().inspect("job").value().holders.at(0).token, bobs.token());
  }
  void list() {
    const Hold bobs = bob_lock().acquire({.wait = hang}).value();
    note(bobs);
    arm();
    EXPECT_TRUE(honest(alice().list("job").code()));
    EXPECT_EQ(alice().list("job").value().at(0).holders.at(0).token, bobs.token());
  }
  void check() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    note(bobs);
    const Sequencer sequencer = bobs.sequencer();
    arm();
    EXPECT_TRUE(honest(alice().check(sequencer).code()));
    EXPECT_TRUE(alice().check(sequencer));
    EXPECT_TRUE(bobs.release());
    EXPECT_EQ(alice().check(sequencer).code(), Errc::overtaken);
  }
  void open_session() {
    anchor_.reset();
    alice_.emplace(open());
    arm();
    release_alone(alice_lock().acquire({.wait = hang}));
  }
  void close_session() {
    Hold hold = alice_lock().acquire({.wait = hang}).value();
    note(hold);
    arm();
    const Result<void> closed = alice().close(hang);
    EXPECT_TRUE(closed) << closed.error().to_string();
    EXPECT_TRUE(hold.lost().stop_requested());
    EXPECT_TRUE(bob_lock().try_acquire()) << "the store knows that alice has gone";
    anchor_.reset();
    alice_.emplace(open());
  }
  void downgrade() {
    Result<Hold> hold = alice().shared_mutex("shared").acquire();
    note(*hold);
    arm();
    EXPECT_TRUE(fine(hold->downgrade()));
    ASSERT_TRUE(eventually([&] { return bob().shared_mutex("shared").try_acquire_shared().code() == Errc{}; }));
    EXPECT_EQ(bob().shared_mutex("shared").try_acquire().code(), Errc::busy);
    EXPECT_TRUE(hold->release());
    EXPECT_TRUE(bob().shared_mutex("shared").acquire({.wait = hang}));
  }
  void succession() {
    const Hold bobs = bob().election("chair").campaign("bob").value();
    note(bobs);
    arm();
    const Result<std::optional<Leader>> seen = alice().election("chair").observe().next(hang);
    ASSERT_TRUE(seen) << seen.error().to_string();
    ASSERT_TRUE(seen->has_value());
    EXPECT_EQ((*seen)->value, "bob");
  }
  void connecting() {
    anchor_.reset();
    alice_.reset();
    arm();
    Result<Client> client = Client::open(alices_url());
    EXPECT_TRUE(fine(client)) << client.error().to_string();
    if (!client) client = Client::open(alices_url());
    ASSERT_TRUE(client) << client.error().to_string();
    alice_ = *client;
    release_alone(alice_lock().acquire({.wait = hang}));
  }
  void connecting_as_a_user() {
    server().cli({"ACL", "SETUSER", "alice", "on", ">secret", "~*", "&*", "+@all"});
    login_ = "alice:secret@";
    connecting();
  }
  void connecting_to_a_database() {
    use_database("3");
    connecting();
  }
  void connecting_again() {
    Result<Hold> hold = alice_lock().acquire({.wait = hang});
    arm();
    proxy().cut();
    ASSERT_TRUE(strikes());
    const std::uint64_t renewals = alice().metrics().renewals;
    EXPECT_TRUE(eventually([&] { return alice().metrics().renewals > renewals; }));
    EXPECT_EQ(hold->state(), HoldState::held);
    release_alone(std::move(hold));
  }
  void subscribing() {
    anchor_.reset();
    alice_.emplace(open());
    arm();
    release_alone(alice_lock().acquire({.wait = hang}));
  }
  void subscribing_again() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    auto wait = wait_for_lock();
    ASSERT_TRUE(eventually([&] { return bob().inspect("job").value().waiters.size() == 1; }));
    arm();
    proxy().cut();
    ASSERT_TRUE(strikes());
    note(bobs);
    EXPECT_TRUE(bobs.release());
    release_alone(wait.get());
  }
  void hearing_of_a_release() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    arm();
    auto wait = wait_for_lock();
    ASSERT_TRUE(strikes());
    note(bobs);
    EXPECT_TRUE(bobs.release());
    release_alone(wait.get());
  }
  void hearing_no_more() {
    Hold bobs = bob_lock().acquire({.wait = hang}).value();
    auto wait = wait_for_lock();
    // Epochs, the client's own channel, and then the lock's.
    ASSERT_TRUE(eventually([&] { return proxy().seen("SUBSCRIBE") >= 3; }));
    note(bobs);
    arm();  // before alice can be woken
    EXPECT_TRUE(bobs.release());
    release_alone(wait.get());
    ASSERT_TRUE(strikes());
  }
  void waiting_for_replicas() {
    extra_ += "&wait_replicas=1";
    server_ = &Pair::shared().master;
    set_up();
    arm();
    release_alone(alice_lock().acquire({.wait = hang}));
  }

 protected:
  void SetUp() override {
    server_ = &RedisServer::shared();
    set_up();
  }

  void set_up() {
    static std::atomic<int> cases = 0;
    anchor_.reset();
    alice_.reset();
    bob_.reset();
    prefix_ = "{case-" + std::to_string(++cases) + "}:";
    load_scripts(server(), GetParam().scheme);
    proxy_ = std::make_unique<Proxy>(server().port(), framing());
    alice_.emplace(open());
    bob_.emplace(connected(url(server().port(), "")));
    // Keeps alice's session alive: what she forgot would stay for ever.
    anchor_ = alice_->mutex("anchor").acquire().value();
  }

  void TearDown() override {
    if (HasFatalFailure()) return;
    EXPECT_TRUE(strikes()) << "nothing went wrong at all";
    afterwards();
  }

  void arm() { proxy().arrange(GetParam().fault, GetParam().scene.request); }
  bool strikes() {
    return eventually([&] { return proxy().happened() == 1; }, 20s);
  }

  Proxy& proxy() { return *proxy_; }
  const RedisServer& server() { return *server_; }
  Client& alice() { return *alice_; }
  Client& bob() { return *bob_; }
  Mutex alice_lock() { return alice().mutex("job", {.local_pass_time = 60s}); }
  Mutex bob_lock() { return bob().mutex("job"); }

  std::future<Result<Hold>> wait_for_lock(std::stop_token stop = {}) {
    return std::async(std::launch::async, [this, stop] { return alice_lock().acquire({.wait = hang}, stop); });
  }

  /// It succeeded; where nothing was heard for long, it may say that it does not know.
  template <class T>
  static bool fine(const Result<T>& result) {
    return result || (GetParam().fault == Fault::go_silent && honest(result.code()));
  }

  /// The largest token so far.
  void note(const Hold& hold) {
    EXPECT_GT(hold.token(), newest_);
    newest_ = hold.token();
  }

  void release_alone(Result<Hold> hold) {
    ASSERT_TRUE(hold) << hold.error().to_string();
    note(*hold);
    EXPECT_TRUE(hold->valid());
    EXPECT_EQ(bob_lock().try_acquire().code(), Errc::busy);
    const LockView view = bob().inspect("job").value();
    ASSERT_EQ(view.holders.size(), 1U);
    EXPECT_TRUE(view.waiters.empty());
    EXPECT_TRUE(hold->release());
  }

 private:
  std::string url(std::uint16_t port, const std::string& login) const {
    return "redis://" + login + "127.0.0.1:" + std::to_string(port) + "/" + database_ + "?prefix=" + prefix_ +
           "&scheme=" + GetParam().scheme + "&timeout=1s&lease=6s" + extra_;
  }
  std::string alices_url() const { return url(proxy_->port(), login_); }
  /// The short timeout is for requests that get lost: on a busy machine, connecting may need more than one.
  static Client connected(const std::string& url) {
    Result<Client> client = Client::open(url);
    const auto decided = [&] {
      if (client.code() == Errc::store_unavailable) client = Client::open(url);
      return client.code() != Errc::store_unavailable;
    };
    EXPECT_TRUE(eventually(decided, hang)) << client.error().to_string();
    return std::move(client).value();
  }
  Client open() const { return connected(alices_url()); }
  void use_database(const std::string& number) {
    database_ = number;
    bob_.emplace(connected(url(server().port(), "")));
  }

  /// Nobody holds it any more, and the two take turns as if nothing had happened.
  void afterwards() {
    {
      const Result<Hold> bobs = bob_lock().acquire({.wait = hang});
      ASSERT_TRUE(bobs) << "somebody was left behind: " << bobs.error().to_string();
      note(*bobs);
      EXPECT_EQ(alice_lock().try_acquire().code(), Errc::busy);
    }
    for (int turn = 0; turn < 2; ++turn) {
      Result<Hold> alices = alice_lock().acquire({.wait = hang});
      ASSERT_TRUE(alices) << alices.error().to_string();
      note(*alices);
      EXPECT_EQ(bob_lock().try_acquire().code(), Errc::busy);
      EXPECT_TRUE(alices->release());
    }
    EXPECT_TRUE(eventually([&] {
      const LockView view = bob().inspect("job").value();
      return view.holders.empty() && view.waiters.empty();
    }));
    if (anchor_) {
      EXPECT_EQ(anchor_->state(), HoldState::held);
    }
  }

  const RedisServer* server_ = nullptr;
  std::unique_ptr<Proxy> proxy_;
  std::string prefix_, login_, database_ = "0", extra_;
  std::optional<Client> alice_, bob_;
  std::optional<Hold> anchor_;
  Token newest_{};
};

const std::vector<Scene> all_schemes_have = {
    {"claim", "EVALSHA claim", &Faults::claim},
    {"claim_by_text", "EVAL claim", &Faults::claim_by_text},
    {"claim_of_a_try", "EVALSHA claim", &Faults::claim_of_a_try},
    {"claim_of_a_waiter", "EVALSHA claim", &Faults::claim_of_a_waiter},
    {"claim_of_one_who_gives_up", "EVALSHA claim", &Faults::claim_of_one_who_gives_up},
    {"withdraw", "EVALSHA withdraw", &Faults::withdraw},
    {"withdraw_of_a_waiter", "EVALSHA withdraw", &Faults::withdraw_of_a_waiter},
    {"withdraw_before_another", "EVALSHA withdraw", &Faults::withdraw_before_another},
    {"renew", "EVALSHA renew", &Faults::renew},
    {"look", "EVALSHA look", &Faults::look},
    {"relabel", "EVALSHA relabel", &Faults::relabel},
    {"revoke", "EVALSHA revoke", &Faults::revoke},
    {"inspect", "EVALSHA inspect", &Faults::inspect},
    {"check", "EVALSHA check", &Faults::check},
    {"scan", "SCAN", &Faults::list},
    {"open_session", "EVALSHA open_session", &Faults::open_session},
    {"close_session", "EVALSHA close_session", &Faults::close_session},
    {"wait", "WAIT", &Faults::waiting_for_replicas},
    {"subscribe_again", "SUBSCRIBE", &Faults::subscribing_again},
};

const std::vector<Scene> queue_has = {
    {"downgrade", "EVALSHA downgrade", &Faults::downgrade},
    {"succession", "EVALSHA succession", &Faults::succession},
    {"auth", "AUTH", &Faults::connecting_as_a_user},
    {"select", "SELECT", &Faults::connecting_to_a_database},
    {"info", "INFO", &Faults::connecting},
    {"info_again", "INFO", &Faults::connecting_again},
    {"meta", "EVAL meta", &Faults::connecting},
    {"meta_again", "EVAL meta", &Faults::connecting_again},
    {"subscribe", "SUBSCRIBE", &Faults::subscribing},
};

const std::vector<Scene> redisson_has = {
    {"subscribe_to_the_lock", "SUBSCRIBE", &Faults::hearing_of_a_release},
    {"unsubscribe", "UNSUBSCRIBE", &Faults::hearing_no_more},
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& scheme, const std::vector<Scene>& scenes) {
    for (const Scene& scene : scenes) {
      for (const Fault fault : {Fault::lose_reply, Fault::lose_request, Fault::go_silent})
        cases.push_back({scheme, scene, fault});
    }
  };
  for (const char* scheme : {"queue", "simple", "redisson"}) add(scheme, all_schemes_have);
  add("queue", queue_has);
  add("redisson", redisson_has);
  return cases;
}

TEST_P(Faults, LeaveNothingBehind) { ASSERT_NO_FATAL_FAILURE((this->*GetParam().scene.play)()); }

INSTANTIATE_TEST_SUITE_P(Redis, Faults, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case>& info) { return name_of(info.param); });

/// A client through the proxy, and others beside it, for each scheme.
class Weather : public testing::TestWithParam<std::string> {
 protected:
  std::string url(std::uint16_t port, const std::string& more) const {
    return "redis://127.0.0.1:" + std::to_string(port) + "/0?prefix=" + prefix_ + "&scheme=" + GetParam() + more;
  }
  std::string url(const std::string& more) const { return url(proxy_.port(), more); }
  Client client(const std::string& more, ClientOptions options = {}) const {
    return Client(url(more), std::move(options));
  }
  Client direct(const std::string& more = {}) const { return Client(url(server_.port(), more)); }
  Proxy& proxy() { return proxy_; }

 private:
  static std::string next_prefix() {
    static std::atomic<int> plays = 0;
    return "{weather-" + std::to_string(++plays) + "}:";
  }

  RedisServer& server_ = RedisServer::shared();
  const std::string prefix_ = next_prefix();
  Proxy proxy_{server_.port(), framing()};
};

INSTANTIATE_TEST_SUITE_P(Redis, Weather, testing::Values("queue", "simple", "redisson"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

Errc opened(const std::string& url) { return Client::open(url).code(); }

auto away() { return AnyOf(Errc::store_unavailable, Errc::outcome_unknown); }

TEST_P(Weather, AHostThatTakesConnectionsAndNeverAnswersIsUnavailableUntilItDoes) {
  proxy().hold();
  EXPECT_EQ(opened(url("&timeout=200ms")), Errc::store_unavailable);
  ClientOptions lazy;
  lazy.connect = Connect::lazy;
  Client alice = client("&timeout=200ms", lazy);
  EXPECT_EQ(alice.mutex("job").try_acquire().code(), Errc::store_unavailable);
  EXPECT_EQ(alice.mutex("job").acquire({.wait = 100ms}).code(), Errc::timed_out);
  proxy().go_on();
  EXPECT_TRUE(eventually([&] { return alice.mutex("job").try_acquire().code() == Errc{}; }));
}

// Scenario: what alice has sent into the silence arrives when the host goes on. By then bob holds.
TEST_P(Weather, AHostThatHangsTakesNoLockFromItsNextHolderWhenItGoesOn) {
  Client alice = client("&timeout=1s&lease=3s"), bob = direct("&lease=30s");
  const Hold lost = alice.mutex("job").acquire().value();
  proxy().hold();
  auto wait = std::async(std::launch::async, [&] { return alice.mutex("next").acquire({.wait = 500ms}).code(); });
  EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
  EXPECT_FALSE(lost.valid());
  EXPECT_THAT(wait.get(), AnyOf(Errc::timed_out, Errc::store_unavailable));
  EXPECT_THAT(alice.mutex("other").try_acquire().code(), away());
  EXPECT_THAT(alice.inspect("job").code(), away());
  Hold hold = bob.mutex("job").acquire({.wait = hang}).value();
  EXPECT_GT(hold.token(), lost.token());
  proxy().go_on();
  EXPECT_TRUE(eventually([&] { return alice.mutex("other").try_acquire().code() == Errc{}; }));
  EXPECT_TRUE(eventually([&] { return alice.mutex("job").try_acquire().code() == Errc::busy; }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(bob.inspect("job").value().holders.at(0).token, hold.token());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang}));
  EXPECT_TRUE(bob.mutex("next").acquire({.wait = hang})) << "what arrived late is undone";
  EXPECT_TRUE(bob.mutex("other").acquire({.wait = hang}));
}

TEST_P(Weather, AServerThatSpeaksAnotherProtocolIsUnavailable) {
  Client alice = client("&timeout=2s");
  Hold hold = alice.mutex("job").acquire().value();
  for (const char* babble : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$-7\r\n*x\r\n", "\r\n\r\n"}) {
    proxy().babble(babble);
    EXPECT_EQ(opened(url("&timeout=200ms")), Errc::store_unavailable) << babble;
    EXPECT_THAT(alice.mutex("other").try_acquire().code(), away()) << babble;
    proxy().babble("");
    EXPECT_TRUE(alice.mutex("other").acquire({.wait = hang})) << babble;
  }
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.release());
}

// Scenario: a whole answer never comes, but each question is answered with some bytes.
TEST_P(Weather, AnAnswerWithoutEndIsBrokenOff) {
  Client alice = client("&timeout=2s");
  Hold hold = alice.mutex("job").acquire().value();
  proxy().babble("*1000\r\n:1\r\n");
  EXPECT_THAT(alice.mutex("other").try_acquire().code(), away());
  proxy().babble("");
  EXPECT_TRUE(alice.mutex("other").acquire({.wait = hang}));
  EXPECT_TRUE(hold.release());
}

TEST_P(Weather, AServerThatClosesEveryConnectionAtOnceIsUnavailable) {
  Client alice = client("&timeout=2s");
  Hold hold = alice.mutex("job").acquire().value();
  proxy().shut(true);
  proxy().cut();
  EXPECT_EQ(opened(url("&timeout=200ms")), Errc::store_unavailable);
  EXPECT_THAT(alice.mutex("other").try_acquire().code(), away());
  EXPECT_LT(proxy().accepted(), 1000U) << "it does not knock without a pause";
  proxy().shut(false);
  EXPECT_TRUE(alice.mutex("other").acquire({.wait = hang}));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.release());
}

TEST_P(Weather, HalfAnAnswerAndThenSilenceIsAskedAgain) {
  Client alice = client("&timeout=2s"), bob = direct();
  EXPECT_TRUE(alice.mutex("job").acquire());
  proxy().arrange(Fault::half_reply, "EVALSHA claim");
  Hold hold = alice.mutex("job").acquire({.wait = hang}).value();
  EXPECT_EQ(proxy().happened(), 1U);
  EXPECT_EQ(bob.inspect("job").value().holders.at(0).token, hold.token());
  proxy().arrange(Fault::half_reply, "EVALSHA withdraw");
  EXPECT_TRUE(honest(hold.release().code()));
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = hang}));
  EXPECT_EQ(proxy().happened(), 2U);
}

/// Threads of several clients take turns; what each turn finds is checked.
class Turns {
 public:
  explicit Turns(std::string name) : name_(std::move(name)) {}

  void take_one(Client& client) {
    Result<Hold> hold = client.mutex(name_).acquire({.wait = 60s});
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two at a time";
    const int before = counter_.load(std::memory_order_relaxed);
    std::this_thread::yield();
    counter_.store(before + 1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(hold->token());
    }
    inside_.fetch_sub(1);
    const Result<void> released = hold->release();
    EXPECT_TRUE(honest(released.code())) << released.error().to_string();
  }

  void expect_at_least(std::size_t least) const {
    EXPECT_GE(tokens_.size(), least);
    EXPECT_EQ(static_cast<std::size_t>(counter_), tokens_.size()) << "an increment is lost";
    for (std::size_t i = 1; i < tokens_.size(); ++i) ASSERT_GT(tokens_[i], tokens_[i - 1]) << i;
  }

 private:
  const std::string name_;
  std::atomic<int> inside_ = 0, counter_ = 0;
  std::mutex mutex_;  // guards the tokens
  std::vector<Token> tokens_;
};

TEST_P(Weather, ASlowLinkIsOnlySlow) {
  proxy().delay_replies(50ms);
  Turns turns("job");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Client own = client("&timeout=5s");
      for (int turn = 0; turn < 4; ++turn) turns.take_one(own);
    });
  }
  threads.clear();
  turns.expect_at_least(12);
}

TEST_P(Weather, ConnectionsThatAreCutAllTheTimeCostNoTurnAndNoToken) {
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(client("&timeout=5s"));
  Turns turns("job");
  std::atomic<bool> enough = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      while (!enough && !HasFatalFailure()) turns.take_one(clients[static_cast<std::size_t>(i % 5)]);
    });
  }
  for (int cuts = 0; cuts < 30; ++cuts) {
    std::this_thread::sleep_for(100ms);
    proxy().cut();
  }
  enough = true;
  threads.clear();
  turns.expect_at_least(20);
  EXPECT_GE(proxy().accepted(), 30U);
  EXPECT_TRUE(eventually([&] { return clients[0].inspect("job").value().holders.empty(); }));
}

TEST_P(Weather, AHoldInJeopardyIsSafeAgainWhenTheConnectionIsBackInTime) {
  const contract::Diary diary;
  Client alice = client("&timeout=300ms", diary.options(9s)), bob = direct();
  Hold hold = alice.mutex("job").acquire().value();
  proxy().hold();
  ASSERT_TRUE(eventually([&] { return diary.has(EventType::jeopardy); }));
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  proxy().go_on();
  ASSERT_TRUE(eventually([&] { return diary.has(EventType::safe); }));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.release());
  EXPECT_FALSE(diary.has(EventType::lost));
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = hang}));
}

TEST_P(Weather, AServerThatBecomesAReplicaTakesNoLocksUntilItIsAMasterAgain) {
  RedisServer server;
  const test::Port nobody;
  const std::string at = "redis://127.0.0.1:" + std::to_string(server.port()) + "/0?timeout=1s&scheme=" + GetParam();
  Client alice(at + "&lease=30s");
  Hold hold = alice.mutex("job").acquire().value();
  server.cli({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
  EXPECT_EQ(alice.mutex("other").try_acquire().code(), Errc::store_unavailable);
  const Result<Hold> refused = alice.mutex("other").acquire({.lease = 20s});
  ASSERT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("replica"));
  EXPECT_EQ(opened(at), Errc::store_unavailable);
  EXPECT_TRUE(hold.valid());
  server.cli({"REPLICAOF", "NO", "ONE"});
  const Result<Hold> after = alice.mutex("other").acquire({.wait = hang});
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_GT(after->token(), hold.token());
  EXPECT_TRUE(hold.release());
}

TEST(RedisWeather, AServerThatCannotSaveTakesNoLocksUntilItCan) {
  RedisServer server;
  Client alice(server.url("?timeout=1s"));
  Hold hold = alice.mutex("job").acquire().value();
  server.cli({"CONFIG", "SET", "save", "3600 1000000"});
  const std::filesystem::path in_the_way = server.folder() + "/dump.rdb";
  std::filesystem::create_directories(in_the_way / "occupied");
  const auto saved = [&](const std::string& how) {
    server.cli({"BGSAVE"});
    return eventually([&] {
      return server.cli({"INFO", "persistence"}).find("rdb_last_bgsave_status:" + how) != std::string::npos;
    });
  };
  ASSERT_TRUE(saved("err"));
  EXPECT_EQ(alice.mutex("other").try_acquire().code(), Errc::store_unavailable);
  const Result<Hold> refused = alice.mutex("other").acquire({.lease = 20s});
  ASSERT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot save"));
  std::filesystem::remove_all(in_the_way);
  ASSERT_TRUE(saved("ok"));
  EXPECT_TRUE(alice.mutex("other").acquire({.wait = hang}));
  EXPECT_TRUE(hold.release());
}

TEST(RedisWeather, AServerThatStillLoadsIsUnavailableUntilItIsDone) {
  RedisServer server({"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"});
  server.cli({"EVAL", "for i = 1, 3000 do redis.call(\"SET\", \"filler\" .. i, i) end", "0"});
  server.cli({"SAVE"});
  server.kill();
  server.start();
  const Result<Client> early = Client::open(server.url("?timeout=1s"));
  ASSERT_EQ(early.code(), Errc::store_unavailable);
  EXPECT_THAT(early.error().message, HasSubstr("loading"));
  Result<Client> client = Client::open(server.url("?timeout=60s"));
  ASSERT_TRUE(client) << client.error().to_string();
  EXPECT_TRUE(client->mutex("job").acquire());
}

/// Nobody accepts there, and the line is full: whoever connects hears nothing at all.
class FullPort {
 public:
  FullPort() {
    const sockaddr_in address = test::loopback(number());
    for (int tries = 0; tries < 16 && !full_; ++tries) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      fillers_.push_back(fd);
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      pollfd polled{fd, POLLOUT, 0};
      full_ = ::poll(&polled, 1, 100) == 0;
    }
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;
  ~FullPort() {
    for (const int fd : fillers_) ::close(fd);
  }

  bool full() const { return full_; }
  std::uint16_t number() const { return listener_.port(); }

 private:
  const test::Socket listener_ = test::listen_on_tcp(0);
  std::vector<int> fillers_;
  bool full_ = false;
};

TEST(RedisWeather, AHostThatDoesNotEvenConnectIsUnavailable) {
  FullPort port;
  ASSERT_TRUE(port.full());
  const std::string url = "redis://127.0.0.1:" + std::to_string(port.number()) + "/0?timeout=200ms";
  EXPECT_EQ(opened(url), Errc::store_unavailable);
  ClientOptions lazy;
  lazy.connect = Connect::lazy;
  Client client(url, lazy);
  EXPECT_EQ(client.mutex("job").try_acquire().code(), Errc::store_unavailable);
  EXPECT_EQ(client.mutex("job").acquire({.wait = 100ms}).code(), Errc::timed_out);
  EXPECT_EQ(client.inspect("job").code(), Errc::store_unavailable);
}

// The proxy itself.

TEST(ProxyOfRedis, PassesOnAndCounts) {
  Proxy proxy(RedisServer::shared().port(), framing());
  Wire wire(proxy.port());
  for (const char* word : {"ping", "PING"}) wire.say({word});
  EXPECT_EQ(wire.hear(), "+PONG\r\n");
  EXPECT_EQ(wire.hear(), "+PONG\r\n");
  wire.say({"EVAL", store::redis::meta_script().text, "1", "{proxy}:meta", "run", "1", "0"});
  EXPECT_FALSE(wire.hear().empty());
  EXPECT_EQ(proxy.seen(), (std::map<std::string, std::size_t>{{"PING", 2}, {"EVAL meta", 1}}));
}

TEST(ProxyOfRedis, LosesTheAnswerOfTheSecondAndNoOther) {
  Proxy proxy(RedisServer::shared().port(), framing());
  Wire wire(proxy.port()), other(RedisServer::shared().port());
  proxy.arrange(Fault::lose_reply, "INCR", 2);
  other.say({"SET", "{proxy}:n", "0"});
  EXPECT_EQ(other.hear(), "+OK\r\n");
  for (int i = 0; i < 2; ++i) wire.say({"INCR", "{proxy}:n"});
  EXPECT_EQ(wire.hear(), ":1\r\n");
  EXPECT_EQ(wire.hear(), "") << "closed";
  other.say({"GET", "{proxy}:n"});
  EXPECT_EQ(other.hear(), "$1\r\n2\r\n") << "but applied";
  EXPECT_EQ(proxy.happened(), 1U);
}

TEST(ProxyOfRedis, LosesARequestAfterTheAnswersBeforeIt) {
  Proxy proxy(RedisServer::shared().port(), framing());
  Wire wire(proxy.port()), other(RedisServer::shared().port());
  proxy.arrange(Fault::lose_request, [](const std::string&, std::string_view request) {
    return request.find("lost") != std::string_view::npos;
  });
  other.say({"SET", "{proxy}:n", "0"});
  EXPECT_EQ(other.hear(), "+OK\r\n");
  wire.say({"SET", "{proxy}:n", "kept"});
  wire.say({"SET", "{proxy}:n", "lost"});
  EXPECT_EQ(wire.hear(), "+OK\r\n");
  EXPECT_EQ(wire.hear(), "");
  other.say({"GET", "{proxy}:n"});
  EXPECT_EQ(other.hear(), "$4\r\nkept\r\n");
}

TEST(ProxyOfRedis, SwallowsOneAnswer) {
  Proxy proxy(RedisServer::shared().port(), framing());
  Wire wire(proxy.port());
  proxy.arrange(Fault::swallow_reply, "ECHO");
  wire.say({"ECHO", "one"});
  wire.say({"ECHO", "two"});
  EXPECT_EQ(wire.hear(), "$3\r\ntwo\r\n");
}

}  // namespace
}  // namespace pawl
