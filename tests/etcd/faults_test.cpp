// Each request of a client, one after the other, is lost, loses its reply, or is answered with silence. Whatever happens: one
// holder at a time, no lock left behind, larger tokens, honest errors, and work goes on.

#include "tests/etcd/stage.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>

namespace pawl {
namespace {

using namespace stage;

bool honest(Errc code) { return code == Errc{} || code == Errc::outcome_unknown || code == Errc::store_unavailable; }

/// Alice comes through the proxy, bob does not.
class Play {
 public:
  explicit Play(const EtcdServer& server, bool with_anchor)
      : prefix_(fresh_prefix()),
        server_(server),
        proxy_(server.port(), test::etcd_framing()),
        bob_(url_at(server.port(), "?timeout=30s&lease=60s&prefix=" + prefix_)) {
    open_alice();
    // Keeps alice's session alive: what she forgot would stay for ever.
    if (with_anchor) anchor_ = alice().mutex("anchor").acquire({.wait = hang}).value();
  }

  void arm() {
    if (nth_ > 0) {
      proxy_.arrange(
          fault_, [](const std::string&, std::string_view) { return true; }, nth_);
    }
    before_ = total();
  }
  void will_meet(Fault fault, std::size_t nth) {
    fault_ = fault;
    nth_ = nth;
  }
  /// Since it was armed.
  std::size_t requests() const { return total() - before_; }
  bool struck() const { return proxy_.happened() > 0; }

  Client& alice() { return *alice_; }
  Client& bob() { return bob_; }
  Mutex alice_lock() { return alice().mutex("job", {.local_pass_time = 60s}); }
  Mutex bob_lock() { return bob().mutex("job"); }
  std::string alices_url() const { return url_at(proxy_.port(), query()); }
  /// A server that does not answer is no reason to give up.
  void open_alice() {
    const auto open = [&] {
      Result<Client> client = Client::open(alices_url());
      if (client) alice_ = *client;
      return client.has_value();
    };
    if (!eventually(open)) throw std::runtime_error("alice cannot connect");
  }
  void close_alice() {
    anchor_.reset();
    alice_.reset();
  }
  bool anchored() const { return anchor_.has_value(); }

  std::future<Result<Hold>> wait_for_lock(std::stop_token stop = {}) {
    return std::async(std::launch::async, [this, stop] { return alice_lock().acquire({.wait = hang}, stop); });
  }
  bool waiters_are(std::size_t count) { return stage::waiters_are(bob(), "job", count); }

  /// It succeeded, or it says that it does not know.
  template <class T>
  bool fine(const Result<T>& result) const {
    return result || honest(result.code());
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
    EXPECT_EQ(bob().inspect("job").value().holders.size(), 1U);
    EXPECT_TRUE(fine(hold->release()));
  }
  /// No client holds it any more, and the two take turns as if nothing had happened.
  void afterwards() {
    {
      const Result<Hold> bobs = bob_lock().acquire({.wait = hang});
      ASSERT_TRUE(bobs) << "a claim was left behind: " << bobs.error().to_string();
      note(*bobs);
      EXPECT_TRUE(eventually([&] { return alice_lock().try_acquire().code() == Errc::busy; }))
          << "once she is connected again";
    }
    Result<Hold> alices = alice_lock().acquire({.wait = hang});
    ASSERT_TRUE(alices) << alices.error().to_string();
    note(*alices);
    EXPECT_EQ(bob_lock().try_acquire().code(), Errc::busy);
    EXPECT_TRUE(alices->release());
    EXPECT_TRUE(eventually([&] { return line().empty(); })) << "keys are left behind";
    if (anchor_) {
      EXPECT_EQ(anchor_->state(), HoldState::held);
    }
  }

 private:
  std::string query() const { return "?timeout=1s&lease=15s&prefix=" + prefix_; }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& [name, count] : proxy_.seen()) sum += count;
    return sum;
  }
  std::vector<EtcdRecord> line() const {
    std::vector<EtcdRecord> all = line_of(server_, prefix_);
    std::erase_if(all, [](const EtcdRecord& one) { return one.key.find("/anchor/") != std::string::npos; });
    return all;
  }

  const std::string prefix_;
  const EtcdServer& server_;
  Proxy proxy_;
  std::optional<Client> alice_;
  Client bob_;
  std::optional<Hold> anchor_;
  Token newest_{};
  Fault fault_{};
  std::size_t nth_ = 0;
  std::size_t before_ = 0;
};

// The scenes. Each arms the proxy, and makes alice send requests.

void claim(Play& play) {
  play.arm();
  play.release_alone(play.alice_lock().acquire({.wait = hang}));
}
void claim_by_a_try(Play& play) {
  play.arm();
  const Result<Hold> hold = play.alice_lock().try_acquire();
  EXPECT_TRUE(play.fine(hold)) << hold.error().to_string();
}
void claim_of_a_waiter(Play& play) {
  Hold bobs = play.bob_lock().acquire({.wait = hang}).value();
  play.arm();
  auto wait = play.wait_for_lock();
  ASSERT_TRUE(play.waiters_are(1));
  EXPECT_TRUE(bobs.valid());
  play.note(bobs);
  EXPECT_TRUE(bobs.release());
  play.release_alone(wait.get());
}
void claim_of_one_who_gives_up(Play& play) {
  Hold bobs = play.bob_lock().acquire({.wait = hang}).value();
  play.arm();
  EXPECT_EQ(play.alice_lock().acquire({.wait = 200ms}).code(), Errc::timed_out);
  EXPECT_TRUE(play.waiters_are(0));
  EXPECT_TRUE(bobs.valid());
  play.note(bobs);
}
void withdrawal_of_a_waiter(Play& play) {
  const Hold bobs = play.bob_lock().acquire({.wait = hang}).value();
  std::stop_source stop;
  auto wait = play.wait_for_lock(stop.get_token());
  ASSERT_TRUE(play.waiters_are(1));
  play.arm();
  stop.request_stop();
  EXPECT_EQ(wait.get().code(), Errc::cancelled);
  EXPECT_TRUE(play.waiters_are(0));
  EXPECT_TRUE(bobs.valid());
  play.note(bobs);
}
void release_before_another(Play& play) {
  Hold hold = play.alice_lock().acquire({.wait = hang}).value();
  play.note(hold);
  auto bobs = wait_for(play.bob(), "job");
  ASSERT_TRUE(play.waiters_are(1));
  play.arm();
  EXPECT_TRUE(play.fine(hold.release()));
  const Result<Hold> next = bobs.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_TRUE(next->valid());
  play.note(*next);
}
void renewal(Play& play) {
  Result<Hold> hold = play.alice_lock().acquire({.wait = hang});
  play.arm();
  const std::uint64_t renewals = play.alice().metrics().renewals;
  EXPECT_TRUE(eventually([&] { return play.alice().metrics().renewals > renewals; }));
  EXPECT_EQ(play.alice().metrics().sessions_opened, 1U);
  play.release_alone(std::move(hold));
}
void revocation(Play& play) {
  Hold bobs = play.bob_lock().acquire({.wait = hang}).value();
  play.note(bobs);
  play.arm();
  const Errc code = play.alice().revoke("job", {.now = true}).code();
  EXPECT_TRUE(honest(code)) << to_string(code);
  if (code == Errc{}) {
    EXPECT_TRUE(eventually([&] { return bobs.lost().stop_requested(); }));
  }
}
void inspection(Play& play) {
  const Hold bobs = play.bob_lock().acquire({.wait = hang}).value();
  play.note(bobs);
  play.arm();
  EXPECT_TRUE(honest(play.alice().inspect("job").code()));
  EXPECT_TRUE(honest(play.alice().list("job").code()));
  EXPECT_TRUE(honest(play.alice().check(bobs.sequencer()).code()));
  EXPECT_TRUE(eventually([&] {
    const Result<LockView> view = play.alice().inspect("job");
    return view && view->holders.at(0).token == bobs.token();
  }));
}
void opening(Play& play) {
  play.close_alice();
  play.arm();
  const Result<Client> client = Client::open(play.alices_url());
  EXPECT_TRUE(play.fine(client)) << client.error().to_string();
  play.open_alice();
  Result<Hold> hold = play.alice_lock().acquire({.wait = hang});
  EXPECT_TRUE(play.fine(hold)) << hold.error().to_string();
  if (hold) play.release_alone(std::move(hold));
}
void closing(Play& play) {
  Hold hold = play.alice_lock().acquire({.wait = hang}).value();
  play.note(hold);
  play.arm();
  const Result<void> closed = play.alice().close(hang);
  EXPECT_TRUE(play.fine(closed)) << closed.error().to_string();
  EXPECT_TRUE(hold.lost().stop_requested());
  play.close_alice();
  play.open_alice();
}
void downgrade(Play& play) {
  Result<Hold> hold = play.alice().shared_mutex("shared").acquire();
  play.note(*hold);
  play.arm();
  const Result<void> downgraded = hold->downgrade();
  EXPECT_TRUE(play.fine(downgraded)) << downgraded.error().to_string();
  if (downgraded) {
    EXPECT_TRUE(play.bob().shared_mutex("shared").acquire_shared({.wait = hang}));
  }
  EXPECT_TRUE(play.fine(hold->release()));
  EXPECT_TRUE(play.bob().shared_mutex("shared").acquire({.wait = hang}));
}
void observation(Play& play) {
  const Hold bobs = play.bob().election("chair").campaign("bob").value();
  play.note(bobs);
  play.arm();
  const Result<std::optional<Leader>> seen = play.alice().election("chair").observe().next(hang);
  ASSERT_TRUE(seen) << seen.error().to_string();
  ASSERT_TRUE(seen->has_value());
  EXPECT_EQ((*seen)->value, "bob");
}

struct Scene {
  const char* name;
  void (*play)(Play&);
  bool anchored = true;
};

struct Case {
  Scene scene;
  Fault fault;
};

std::string name_of(const Case& it) {
  const std::string ends = it.fault == Fault::lose_request ? "_is_lost"
                           : it.fault == Fault::lose_reply ? "_loses_its_reply"
                                                           : "_is_answered_with_silence";
  return it.scene.name + ends;
}

void PrintTo(const Case& it, std::ostream* out) { *out << name_of(it); }

class EtcdFaults : public testing::TestWithParam<Case> {};

// One play without a fault counts the requests. Then there is one play for each of them, all at the same time.
TEST_P(EtcdFaults, AnyRequest) {
  const auto& [scene, fault] = GetParam();
  const EtcdServer& server = EtcdServer::shared();
  std::size_t requests = 0;
  {
    Play play(server, scene.anchored);
    scene.play(play);
    requests = play.requests();
    play.afterwards();
  }
  ASSERT_GT(requests, 0U);
  std::atomic<std::size_t> struck = 0;
  std::vector<std::future<void>> plays;
  for (std::size_t nth = 1; nth <= requests; ++nth) {
    plays.push_back(std::async(std::launch::async, [&, nth] {
      SCOPED_TRACE(name_of(GetParam()) + " at request " + std::to_string(nth));
      Play play(server, scene.anchored);
      play.will_meet(GetParam().fault, nth);
      scene.play(play);
      if (!testing::Test::HasFatalFailure()) play.afterwards();
      if (play.struck()) ++struck;
    }));
  }
  for (auto& play : plays) play.get();
  EXPECT_GE(struck + 1, requests) << "nearly each of them was met";
}

const std::vector<Scene> scenes = {
    {"claim", claim},
    {"claim_by_a_try", claim_by_a_try},
    {"claim_of_a_waiter", claim_of_a_waiter},
    {"claim_of_one_who_gives_up", claim_of_one_who_gives_up},
    {"withdrawal_of_a_waiter", withdrawal_of_a_waiter},
    {"release_before_another", release_before_another},
    {"renewal", renewal},
    {"revocation", revocation},
    {"inspection", inspection},
    {"opening", opening, false},
    {"closing", closing, false},
    {"downgrade", downgrade},
    {"observation", observation},
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Scene& scene : scenes) {
    for (const Fault fault : {Fault::lose_request, Fault::lose_reply, Fault::go_silent})
      cases.push_back({scene, fault});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Each, EtcdFaults, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace pawl
