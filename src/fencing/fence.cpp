#include "fencing/fence.hpp"

#include <pawl/fence.hpp>

#include "base/lock_name.hpp"
#include "fencing/file_fence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::fencing {

namespace {

/// The fences in whose writes this thread is.
thread_local std::vector<std::string_view> entered;

class Inside {
 public:
  explicit Inside(std::string_view key) { entered.push_back(key); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { entered.pop_back(); }
};

}  // namespace

Result<void> FenceCore::admit(const Sequencer& sequencer, const Write& write) {
  return enter([&](Marks& marks) { return marks.admit(sequencer, options_); }, write);
}

Result<void> FenceCore::adopt(std::uint64_t store_id) {
  return enter([&](Marks& marks) -> Result<bool> { return marks.adopt(store_id); }, [] {});
}

Result<void> FenceCore::enter(const Change& change, const Write& write) {
  if (std::find(entered.begin(), entered.end(), key_) != entered.end()) {
    return {Errc::would_deadlock, fmt::format("this thread is inside a write of the fence of {} already", lock_)};
  }
  const Inside inside(key_);
  return change_and_write(change, write);
}

ProcessFence::ProcessFence(Marks marks, FenceOptions options)
    : FenceCore(fmt::format("process {}", static_cast<const void*>(this)), marks, options), marks_(std::move(marks)) {}

Result<void> ProcessFence::check(const Sequencer& sequencer) const {
  const std::lock_guard guard(marks_mutex_);
  return marks_.check(sequencer, options_);
}

Result<void> ProcessFence::change_and_write(const Change& change, const Write& write) {
  const std::lock_guard exclusion(writing_);
  {
    const std::lock_guard guard(marks_mutex_);
    if (auto changed = change(marks_); !changed) return changed.error();
  }
  write();
  return {};
}

}  // namespace pawl::fencing

namespace pawl {

Fence::Fence(Kind kind, std::string_view name, FenceOptions options)
    : core_(std::make_shared<fencing::ProcessFence>(fencing::Marks(kind, base::LockName::make(name).value().bytes()),
                                                    options)) {}

Fence::Fence(std::shared_ptr<fencing::FenceCore> core) noexcept : core_(std::move(core)) {}

Result<Fence> Fence::open(const std::filesystem::path& path, Kind kind, std::string_view name, FenceOptions options) {
  if (auto valid = base::LockName::make(name); !valid) return valid.error();
  auto core = fencing::FileFence::open(path, fencing::Marks(kind, name), options);
  if (!core) return core.error();
  return Fence(std::move(*core));
}

// In the exclusion, like a write: an earlier holder's write that is running must have ended before the new one reads.
Result<void> Fence::mark(const Sequencer& sequencer) {
  return core_->admit(sequencer, [] {});
}

Result<void> Fence::check(const Sequencer& sequencer) const { return core_->check(sequencer); }

Result<void> Fence::adopt(std::uint64_t store_id) { return core_->adopt(store_id); }

Result<void> Fence::run(const Sequencer& sequencer, Body body) {
  const auto core = core_;  // `write` may destroy this handle
  return core->admit(sequencer, [body] { body.call(body.object); });
}

}  // namespace pawl
