#include "apps/cli/torture/guarded.hpp"

#include <string_view>
#include <utility>

namespace pawl::torture {

namespace {

Fence open_fence(const Orders& orders, const LockSpec& lock) {
  const FenceOptions options{.follow_new_store = orders.forgets};
  return Fence::open(orders.folder.fence(lock.name), lock.kind, lock.name, options).value();
}

std::string slot_text(const Sequencer& sequencer) { return sequencer.slot ? std::to_string(*sequencer.slot) : "-"; }

}  // namespace

Guarded::Guarded(const Orders& orders, const LockSpec& spec)
    : folder(orders.folder), lock(spec), fence(open_fence(orders, spec)) {}

std::string slots_of(const Hold& hold) {
  std::string text;
  for (std::size_t i = 0; i < hold.permits(); ++i) text += (text.empty() ? "" : ",") + slot_text(hold.sequencer(i));
  return text.empty() ? "-" : text;
}

Access::Access(Guarded& guarded, Sequencer sequencer, const Diary& diary, std::string turn, bool past_the_fence)
    : guarded_(guarded),
      sequencer_(std::move(sequencer)),
      diary_(diary),
      turn_(std::move(turn)),
      slot_(slot_text(sequencer_)),
      past_the_fence_(past_the_fence) {}

bool Access::log(const std::string& operation, const std::string& value, auto&& run) {
  const std::string number = slot_ + "/" + std::to_string(++calls_);
  diary_.tell(turn_, "call " + number + " " + operation + " " + slot_ + " " + value);
  std::string read = "-";
  const Result<void> outcome = run(read);
  diary_.tell(turn_, "done " + number + " " + (outcome ? "ok" : std::string(to_string(outcome.code()))) + " " + read);
  return outcome.has_value();
}

Result<void> Access::behind_the_fence(auto&& run) {
  if (!past_the_fence_) return guarded_.fence.admit(sequencer_, run);
  run();
  return {};
}

bool Access::mark() {
  const Resource resource = guarded_.resource(slot_);
  const bool marked = log("mark", "-", [this](std::string&) { return guarded_.fence.mark(sequencer_); });
  if (!marked && !past_the_fence_) return false;
  return log("read", "-", [&](std::string& read) {
    Result<void> outcome = behind_the_fence([&] { read = resource.read(); });
    seen_ = read;
    return outcome;
  });
}

void Access::finish(const std::string& writer) {
  const Resource resource = guarded_.resource(slot_);
  if (sequencer_.mode == Mode::shared) {
    log("read", "-", [&](std::string& read) { return behind_the_fence([&] { read = resource.read(); }); });
    return;
  }
  const std::string value = writer + "/" + slot_;
  log("write", value, [&](std::string&) {
    return behind_the_fence([&] { resource.write({value, seen_, sequencer_.token.to_string()}); });
  });
}

}  // namespace pawl::torture
