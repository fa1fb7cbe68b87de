#pragma once

#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <concepts>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl {

namespace fencing {
class FenceCore;
}

/// The guard in front of a resource: runs a write for a sequencer, refuses one that was overtaken.
/// Keeps two marks: X, the highest exclusive token seen, and S, the highest shared one. Exclusive t is admitted if
/// t >= X and t > S, shared t if t >= X. Permits have a mark per slot.
/// Promise: the mark is raised (durably, where it is kept in a file) before the write runs, and no other write of
///          this fence runs meanwhile, in this process or, with a file, in any other.
/// Limit:   only writes that go through the fence are guarded. Nobody may delete the files while they are in use.
/// Threads: safe to share; copies are the same fence.
/// Errors:  overtaken, invalid_argument (another lock's sequencer), store_unavailable and permission_denied (the file
///          cannot be used), would_deadlock (admit inside a write of the same fence).
class Fence {
 public:
  /// Marks in this process only. Throws pawl::Exception (invalid_argument) for a name that no lock can have.
  Fence(Kind kind, std::string_view name);

  /// Marks in a file, shared by all processes that name the same path. A second file, `<path>.lock`, stays beside it.
  /// Errors: invalid_argument when the file belongs to another lock or is not a fence, unsupported when a newer pawl
  ///         wrote it, store_unavailable or permission_denied when it cannot be read or made.
  static Result<Fence> open(const std::filesystem::path& path, Kind kind, std::string_view name);

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
