#pragma once

#include "tests/contract/schemes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// How gtest prints what a comparison found.
inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }
inline void PrintTo(HoldState state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(EventType type, std::ostream* out) { *out << to_string(type); }
inline void PrintTo(const Token& token, std::ostream* out) { *out << token.to_string(); }

}  // namespace pawl

namespace pawl::contract {

using namespace scene;

/// The stage of a contract test. When the play is over, nothing may be left at the store, whatever happened in it.
class Contract : public ::testing::TestWithParam<Line> {
 protected:
  World& world() { return *world_; }
  const store::Capabilities& can() { return world().capabilities(); }

  /// A stretch of time that is short for this world, and long enough for everything that is ready to happen.
  Duration a_moment() const { return world_->virtual_time() ? Duration(1s) : Duration(20ms); }

  /// A lease that a test can wait for, and that survives a machine which stands still for a while: for holds that must
  /// come through trouble alive.
  Duration sturdy_lease() const { return std::max<Duration>(2 * world_->lease(), 3s); }

  /// So many locks, or as many as one client can hold.
  std::size_t as_many_as_it_holds(std::size_t wanted) {
    return can().most_held == 0 ? wanted : std::min<std::size_t>(wanted, can().most_held);
  }

  /// As many clients as it takes to hold so many locks, two at least.
  std::vector<Actor> clients_to_hold(std::size_t locks) {
    std::vector<Actor> clients;
    for (std::size_t held = 0; held < locks || clients.size() < 2; held += as_many_as_it_holds(locks)) {
      clients.push_back(world().client());
    }
    return clients;
  }

  /// Waits for what takes several renewals of a hold, and no longer than that lives: then it will never come.
  template <class Condition>
  bool lives_until(const Hold& hold, const Condition& so) {
    const auto lost = [&] { return hold.lost().stop_requested(); };
    EXPECT_TRUE(world_->eventually([&] { return so() || lost(); })) << "it hangs";
    return !lost();
  }

  /// For scenes that a machine which stands still for long can spoil: one of a few must go well. A fault of a client or a
  /// store spoils all of them. `scene` says what went wrong; empty: nothing.
  template <class Scene>
  void expect_undisturbed(const Scene& scene) {
    std::string wrong;
    for (int round = 0; round < 6; ++round) {
      const std::string now = scene();
      if (now.empty()) return;
      wrong += now + "\n";
    }
    ADD_FAILURE() << wrong;
  }

  /// Waits until somebody waits for the lock, or has it because its holder could not renew in time.
  bool waits_or_has(const StartedHold& waiter, std::string_view name) {
    return world_->ask_until([&] { return waiter.ready() || world_->view(name).waiters.size() == 1; });
  }

  void TearDown() override { EXPECT_EQ(world_->left_behind(), ""); }

 private:
  const std::unique_ptr<World> world_ = GetParam().make_world();
};

inline constexpr Errc no_error{};

/// Its holder was told.
inline bool is_lost(const Hold& hold) { return hold.lost().stop_requested(); }

inline std::string line_name(const ::testing::TestParamInfo<Line>& info) { return info.param.name; }

}  // namespace pawl::contract

/// A fixture for one promise, run for every scheme of every store.
#define PAWL_CONTRACT(promise)                                                                     \
  class promise : public ::pawl::contract::Contract {};                                            \
  INSTANTIATE_TEST_SUITE_P(Schemes, promise, ::testing::ValuesIn(::pawl::contract::all_schemes()), \
                           ::pawl::contract::line_name)

/// The same where threads of the test must block.
#define PAWL_BLOCKING_CONTRACT(promise)                                                                 \
  class promise : public ::pawl::contract::Contract {};                                                 \
  INSTANTIATE_TEST_SUITE_P(Schemes, promise, ::testing::ValuesIn(::pawl::contract::blocking_schemes()), \
                           ::pawl::contract::line_name)

/// The only way to leave a case out: the scheme declares that it cannot do this.
#define PAWL_NEEDS(capability) \
  if (!can().capability) GTEST_SKIP() << can().store << "/" << can().scheme << " declares: not " #capability
