#include "store/line.hpp"

#include <utility>

namespace pawl::store {

namespace {

constexpr std::size_t few = 2;  // before us: watched one by one sooner than listed again

}  // namespace

Line::Step Line::next() const {
  switch (state_) {
    case State::absent: return Step::create;
    case State::unknown: return Step::find;
    case State::adrift: return Step::list;
    case State::behind: return Step::watch;
    case State::waiting: return Step::wait;
    case State::first: return Step::take;
    case State::held: return Step::keep;
    case State::gone: break;
  }
  return Step::stop;
}

const std::string& Line::last() const {
  static const std::string none;
  return before_.empty() ? none : before_.back();
}

void Line::stand_behind(Keys before, bool all) {
  before_ = std::move(before);
  all_known_ = all;
  if (!before_.empty())
    state_ = State::behind;
  else
    state_ = all ? State::first : State::adrift;
}

void Line::created(Keys before, bool all) {
  waited_ = false;
  stand_behind(std::move(before), all);
}

void Line::creation_unknown() {
  before_.clear();
  all_known_ = false;
  state_ = State::unknown;
}

void Line::found(bool there) {
  if (state_ == State::unknown) state_ = there ? State::adrift : State::absent;
}

void Line::listed(Keys before, bool all) { stand_behind(std::move(before), all); }

void Line::watched(Seen what) {
  if (state_ != State::behind) return;
  if (what == Seen::gone) return left(false);
  // Whatever else was before us is gone: only the last one is left to wait for.
  if (what == Seen::holding) stand_behind({last()}, true);
  waited_ = true;
  state_ = State::waiting;
}

void Line::left(bool held) {
  if (state_ != State::behind && state_ != State::waiting) return;
  before_.pop_back();
  if (held) return stand_behind({}, true);
  if (all_known_ && before_.size() <= few) return stand_behind(std::move(before_), true);
  before_.clear();
  state_ = State::adrift;
}

void Line::postponed() {
  if (state_ != State::first) return;
  waited_ = true;
  state_ = State::adrift;
}

void Line::look_again() {
  if (state_ == State::waiting) state_ = State::behind;
}

void Line::taken() {
  before_.clear();
  state_ = State::held;
}

void Line::taken_away() {
  before_.clear();
  state_ = State::gone;
}

void Line::withdrawn() {
  before_.clear();
  all_known_ = waited_ = false;
  state_ = State::absent;
}

}  // namespace pawl::store
