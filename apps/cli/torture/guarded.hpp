#pragma once

#include "apps/cli/torture/diary.hpp"
#include "apps/cli/torture/resource.hpp"
#include "apps/cli/torture/scene.hpp"

#include <pawl/fence.hpp>
#include <pawl/hold.hpp>

#include <atomic>
#include <string>

namespace pawl::torture {

/// A lock, the fence in front of what it guards, and that. A semaphore guards a resource for each slot.
struct Guarded {
  Guarded(const Orders& orders, const LockSpec& spec);

  Resource resource(const std::string& slot) const { return Resource(folder.resource(lock.name + "." + slot)); }

  Folder folder;
  LockSpec lock;
  Fence fence;
};

/// "0,2", or "-" where the lock has no slots.
std::string slots_of(const Hold& hold);

/// What a holder does with one resource: mark, read, and then write what depends on it; or, when it shares, read again.
class Access {
 public:
  Access(Guarded& guarded, Sequencer sequencer, const Diary& diary, std::string turn, bool past_the_fence);

  /// False when the fence refuses.
  bool mark();
  /// The write, or the second look of a reader. `writer` makes the value one that nobody else writes.
  void finish(const std::string& writer);

 private:
  /// Runs it inside the fence, and logs its call and its outcome.
  bool log(const std::string& operation, const std::string& value, auto&& run);
  Result<void> behind_the_fence(auto&& run);

  Guarded& guarded_;
  Sequencer sequencer_;
  const Diary& diary_;
  std::string turn_;
  std::string slot_;
  bool past_the_fence_;
  std::string seen_ = {};
  int calls_ = 0;
};

}  // namespace pawl::torture
