#include <pawl/hold.hpp>

#include "lock/hold_core.hpp"

#include <utility>

namespace pawl {

Hold::Hold() noexcept = default;
Hold::Hold(std::shared_ptr<lock::HoldCore> core) noexcept : core_(std::move(core)) {}
Hold::Hold(Hold&&) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->send_release();
  core_ = std::move(other.core_);
  return *this;
}

Hold::~Hold() {
  if (core_) core_->send_release();
}

Token Hold::token() const noexcept { return core_ ? core_->hold().token() : Token{}; }
Sequencer Hold::sequencer(std::size_t permit) const { return core_ ? core_->sequencer(permit) : Sequencer{}; }
Mode Hold::mode() const noexcept { return core_ ? core_->hold().mode() : Mode::exclusive; }
std::size_t Hold::permits() const noexcept { return core_ ? core_->hold().slots().size() : 0; }

Result<void> Hold::downgrade() {
  if (!core_) return Error{Errc::not_owner, "this hold is empty: it was moved away, or never granted"};
  return core_->downgrade_blocking();
}

std::stop_token Hold::lost() const noexcept { return core_ ? core_->hold().lost() : std::stop_token{}; }

std::stop_token Hold::release_requested() const noexcept {
  return core_ ? core_->hold().release_requested() : std::stop_token{};
}

Duration Hold::remaining() const noexcept {
  return core_ && !core_->inert() ? core_->hold().remaining() : Duration::zero();
}

bool Hold::valid() const noexcept { return remaining() > Duration::zero(); }

HoldState Hold::state() const noexcept {
  return core_ && !core_->inert() ? core_->hold().state() : HoldState::released;
}

Result<void> Hold::release() {
  if (!core_) return Error{Errc::not_owner, "this hold is empty: it was moved away, or never granted"};
  return core_->release_blocking();
}

}  // namespace pawl
