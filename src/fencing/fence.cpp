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
  if (std::find(entered.begin(), entered.end(), key_) != entered.end()) {
    return {Errc::would_deadlock, fmt::format("this thread is inside a write of the fence of {} \"{}\" already",
                                              to_string(sequencer.kind), base::printable(sequencer.name))};
  }
  const Inside inside(key_);
  return exclude_and_write(sequencer, write);
}

ProcessFence::ProcessFence(Marks marks)
    : FenceCore(fmt::format("process {}", static_cast<const void*>(this))), marks_(std::move(marks)) {}

Result<void> ProcessFence::check(const Sequencer& sequencer) const {
  const std::lock_guard guard(marks_mutex_);
  return marks_.check(sequencer);
}

Result<void> ProcessFence::exclude_and_write(const Sequencer& sequencer, const Write& write) {
  const std::lock_guard exclusion(writing_);
  {
    const std::lock_guard guard(marks_mutex_);
    if (auto admitted = marks_.admit(sequencer); !admitted) return admitted.error();
  }
  write();
  return {};
}

}  // namespace pawl::fencing

namespace pawl {

Fence::Fence(Kind kind, std::string_view name)
    : core_(std::make_shared<fencing::ProcessFence>(fencing::Marks(kind, base::LockName::make(name).value().bytes()))) {
}

Fence::Fence(std::shared_ptr<fencing::FenceCore> core) noexcept : core_(std::move(core)) {}

Result<Fence> Fence::open(const std::filesystem::path& path, Kind kind, std::string_view name) {
  if (auto valid = base::LockName::make(name); !valid) return valid.error();
  auto core = fencing::FileFence::open(path, fencing::Marks(kind, name));
  if (!core) return core.error();
  return Fence(std::move(*core));
}

Result<void> Fence::check(const Sequencer& sequencer) const { return core_->check(sequencer); }

Result<void> Fence::run(const Sequencer& sequencer, Body body) {
  const auto core = core_;  // `write` may destroy this handle
  return core->admit(sequencer, [body] { body.call(body.object); });
}

}  // namespace pawl
