#pragma once

#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl {

namespace fencing {
class FenceCore;
}

struct FenceOptions {
  /// Follow a store that came back empty under a new id, such as a Redis without persistence: a sequencer of another
  /// store is admitted if its epoch is later than that of every mark, and the fence is pinned to that store from then on.
  /// Any newer store passes this test, so a client with a wrong URL does, too. Leave it off where the store keeps its data.
  bool follow_new_store = false;
};

/// The guard in front of a resource: runs a write for a sequencer, refuses one that was overtaken.
/// Keeps two marks: X, the highest exclusive token seen, and S, the highest shared one. Exclusive t is admitted if
/// t >= X and t > S, shared t if t >= X. Permits have a mark per slot.
/// The first sequencer that is marked or admitted pins the fence to its store: tokens of two stores have no order.
/// Promise: the mark is raised (durably, where it is kept in a file) before the write runs, and no other write of
///          this fence runs meanwhile, in this process or, with a file, in any other.
/// Limit:   only writes that go through the fence are guarded. Until a new holder calls mark() or admit(), writes of the
///          holder before it are admitted. Nobody may delete the files while they are in use.
/// Threads: safe to share; copies are the same fence.
/// Errors:  overtaken, other_store, invalid_argument (another lock's sequencer), store_unavailable and permission_denied
///          (the file cannot be used), would_deadlock (mark, admit or adopt inside a write of the same fence).
class Fence {
 public:
  /// Marks in this process only. Throws pawl::Exception (invalid_argument) for a name that no lock can have.
  Fence(Kind kind, std::string_view name, FenceOptions options = {});

  /// Marks in a file, shared by all processes that name the same path. A second file, `<path>.lock`, stays beside it.
  /// A file of an older pawl is not pinned to a store yet; it is rewritten at the first mark.
  /// Errors: invalid_argument when the file belongs to another lock or is not a fence, unsupported when a newer pawl
  ///         wrote it, store_unavailable or permission_denied when it cannot be read or made.
  static Result<Fence> open(const std::filesystem::path& path, Kind kind, std::string_view name,
                            FenceOptions options = {});

  /// Raises the mark now. Call it right after the grant, before the first read: when it returns, no earlier holder's
  /// write is running and none will be admitted, so what is read stays true until this holder is overtaken itself.
  Result<void> mark(const Sequencer& sequencer);

  /// Runs `write` inside the fence's own exclusion if the sequencer is not overtaken. `write` returns nothing or a
  /// Result<void>; its error, or what it throws, is passed on, and the mark stays raised.
  template <std::invocable Write>
  Result<void> admit(const Sequencer& sequencer, Write&& write) {
    Result<void> outcome;
    auto body = [&] {
      if constexpr (std::is_void_v<std::invoke_result_t<Write>>) {
        std::forward<Write>(write)();
      } else {
        outcome = std::forward<Write>(write)();
      }
    };
    Result<void> admitted =
        run(sequencer, Body{&body, [](void* object) { (*static_cast<decltype(body)*>(object))(); }});
    return admitted ? outcome : admitted;
  }

  /// Would it be admitted now? Not enough to guard a write: the answer may be old before the write begins.
  Result<void> check(const Sequencer& sequencer) const;

  /// Pins the fence to another store (Client::store_id()) and resets its marks, because tokens of two stores have no
  /// order. From then on the other store's sequencers are refused, and any holder of this one is admitted until a later
  /// one has been here. Changes nothing when the fence is pinned to that store already.
  Result<void> adopt(std::uint64_t store_id);

 private:
  struct Body {
    void* object;
    void (*call)(void*);
  };
  explicit Fence(std::shared_ptr<fencing::FenceCore> core) noexcept;
  Result<void> run(const Sequencer& sequencer, Body body);

  std::shared_ptr<fencing::FenceCore> core_;
};

}  // namespace pawl
