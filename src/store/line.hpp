#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::store {

/// A claim's place in a line of numbered keys: the smallest number holds the lock, and each of the others watches the one
/// key that it waits for. What was seen goes in, what to do next comes out; it asks no server itself.
///
/// | state    | meaning                                        | next() |
/// |----------|------------------------------------------------|--------|
/// | absent   | there is no key of ours                        | create |
/// | unknown  | the answer to the creation was lost            | find   |
/// | adrift   | our key is there; who is before us is unknown  | list   |
/// | behind   | last() is before us, and not watched           | watch  |
/// | waiting  | last() is before us, and watched               | wait   |
/// | first    | no key is before us                            | take   |
/// | held     | the lock is ours                               | keep   |
/// | gone     | our key was taken away                         | stop   |
///
/// Rules: a key is watched before it is looked at, so its end between list and watch is seen. A claim becomes first only
///        when every key before it was seen to be gone, or when the last one before it has held the lock alone: then no
///        other can be before it.
class Line {
 public:
  enum class Step : std::uint8_t { create, find, list, watch, wait, take, keep, stop };
  using Keys = std::vector<std::string>;

  Step next() const;
  /// The key that we wait for. Empty: none.
  const std::string& last() const;
  /// Has it waited since its key was made?
  bool waited() const { return waited_; }

  /// Our key was made. `before`: the keys that we must wait for, as far as they are known, the last one last.
  /// `all`: there are no others.
  void created(Keys before, bool all);
  /// It may have been made.
  void creation_unknown();
  /// Looked for by the claim's id: it is there, or not.
  void found(bool there);
  /// The line was listed: these we must wait for, the last one last. `all`: there are no others.
  void listed(Keys before, bool all = true);
  /// last() is watched, and was looked at after that.
  enum class Seen : std::uint8_t {
    gone,
    there,
    holding,  ///< it is there, and holds the lock alone: so none is before it
  };
  void watched(Seen what);
  /// An event, or a look: last() is gone. `held`: it had held the lock alone.
  void left(bool held);
  /// No key is before ours, and the lock cannot be taken yet: a lock-delay, or too few permits are left. The line is listed
  /// again, as others may have come before us by then.
  void postponed();
  /// Others were there when our key was made, though it has not waited for them.
  void was_not_alone() { waited_ = true; }
  /// Something about the one before us has changed, or the watch may have missed it: look at it again.
  void look_again();
  void taken();
  /// Our key is not there any more, and not by our doing.
  void taken_away();
  /// By our doing.
  void withdrawn();

 private:
  enum class State : std::uint8_t { absent, unknown, adrift, behind, waiting, first, held, gone };
  void stand_behind(Keys before, bool all);

  State state_ = State::absent;
  Keys before_ = {};
  bool all_known_ = false;  // no key but before_ can be before us
  bool waited_ = false;
};

}  // namespace pawl::store
