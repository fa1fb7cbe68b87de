#include "fencing/marks.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/planted.hpp"
#include "fencing/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace pawl::fencing {

using base::Bug;
using base::planted;

namespace {

constexpr std::string_view fence_heading = "pawl-fence ";
constexpr std::string_view no_store = "-";

Error not_marks() { return {Errc::invalid_argument, "it is not a fence's file"}; }

std::string lock_text(Kind kind, std::string_view name) {
  return fmt::format("{} \"{}\"", to_string(kind), base::printable(name));
}

/// The rest of the next line if it begins with `key` and a blank; else nothing.
std::string_view take_line(std::string_view& text, std::string_view key) {
  const auto line = take_until(text, '\n');
  return line.starts_with(key) ? line.substr(key.size()) : std::string_view{};
}

bool take_token(std::string_view text, Token& token) {
  const auto parsed = Token::parse(text);
  if (parsed) token = *parsed;
  return parsed.has_value();
}

bool take_store(std::string_view text, std::optional<std::uint64_t>& store) {
  if (text == no_store) return true;
  std::uint64_t id = 0;
  if (!base::parse_hex(text, id)) return false;
  store = id;
  return true;
}

/// "3 <token>"
bool take_slot(std::string_view text, std::map<std::uint32_t, Token>& slots) {
  std::uint64_t slot = 0;
  Token token;
  if (!parse_number(take_until(text, ' '), slot) || slot > std::numeric_limits<std::uint32_t>::max()) return false;
  if (!take_token(text, token)) return false;
  return slots.emplace(static_cast<std::uint32_t>(slot), token).second;
}

}  // namespace

std::string Marks::lock() const { return lock_text(kind_, name_); }

Result<void> Marks::check_shape(const Sequencer& sequencer) const {
  const auto refused = [&](std::string_view why) -> Result<void> {
    return {Errc::invalid_argument, fmt::format("the fence of {} refuses the sequencer: {}", lock(), why)};
  };
  if (sequencer.kind != kind_ || sequencer.name != name_) {
    return refused("it belongs to " + lock_text(sequencer.kind, sequencer.name));
  }
  if (sequencer.token == Token{}) return refused("its token is zero, which no grant has");
  if (kind_ == Kind::permits && !sequencer.slot) return refused("it has no slot");
  if (kind_ != Kind::permits && sequencer.slot) return refused("it has a slot, which only permits have");
  if (kind_ != Kind::rw && sequencer.mode == Mode::shared) return refused("it is shared, which only an rw lock can be");
  return {};
}

Token Marks::newest() const {
  Token newest = std::max(exclusive_, shared_);
  for (const auto& [slot, token] : slots_) newest = std::max(newest, token);
  return newest;
}

Result<void> Marks::check_store(const Sequencer& sequencer, FenceOptions options) const {
  if (!store_ || *store_ == sequencer.store_id) return {};
  const Token newest = this->newest();
  if (!options.follow_new_store || newest == Token{}) {
    return {Errc::other_store, fmt::format("the fence of {} is pinned to store {}, and this token comes from store {}: "
                                           "check the store's URL, or move the fence with adopt()",
                                           lock(), base::hex(*store_), base::hex(sequencer.store_id))};
  }
  // The same epoch in two stores is chance and orders nothing.
  if (sequencer.token.epoch() > newest.epoch()) return {};
  return {Errc::overtaken, fmt::format("token {} of {} is overtaken: it comes from store {}, and store {} with {} has "
                                       "been here since",
                                       sequencer.token.to_string(), lock(), base::hex(sequencer.store_id),
                                       base::hex(*store_), newest.to_string())};
}

Token Marks::mark_for(const Sequencer& sequencer) const {
  if (kind_ != Kind::permits) return exclusive_;
  if (planted(Bug::fence_mixes_slots)) return newest();
  const auto at = slots_.find(*sequencer.slot);
  return at == slots_.end() ? Token{} : at->second;
}

Result<void> Marks::check(const Sequencer& sequencer, FenceOptions options) const {
  if (auto shape = check_shape(sequencer); !shape) return shape;
  if (auto store = check_store(sequencer, options); !store) return store;
  const auto overtaken = [&](Token by, std::string_view whom) -> Result<void> {
    return {Errc::overtaken, fmt::format("token {} of {} is overtaken: {} with {} has been here",
                                         sequencer.token.to_string(), lock(), whom, by.to_string())};
  };
  if (planted(Bug::fence_admits_overtaken)) return {};
  if (const Token mark = mark_for(sequencer); sequencer.token < mark) return overtaken(mark, "a later holder");
  const bool writer = kind_ == Kind::rw && sequencer.mode == Mode::exclusive;
  if (planted(Bug::fence_admits_equal) && sequencer.token == shared_) return {};
  if (writer && sequencer.token <= shared_) return overtaken(shared_, "a reader");
  return {};
}

Result<bool> Marks::admit(const Sequencer& sequencer, FenceOptions options) {
  if (auto checked = check(sequencer, options); !checked) return checked.error();
  const bool pinned = std::exchange(store_, sequencer.store_id) != sequencer.store_id;
  const bool reader = sequencer.mode == Mode::shared;
  Token& mark = kind_ == Kind::permits ? slots_[*sequencer.slot] : reader ? shared_ : exclusive_;
  // A reader may be behind other readers: S is the highest of them and never goes down.
  if (sequencer.token <= mark) return pinned;
  mark = sequencer.token;
  return true;
}

bool Marks::adopt(std::uint64_t store_id) {
  if (store_ == store_id) return false;  // resetting here would admit those who were overtaken
  *this = Marks(kind_, name_);
  store_ = store_id;
  return true;
}

std::string Marks::to_text(std::uint64_t layout) const {
  std::string text =
      fmt::format("{}{}\nkind {}\nname {}\n", fence_heading, layout, to_string(kind_), base::encode_name(name_));
  if (layout > 1) text += fmt::format("store {}\n", store_ ? base::hex(*store_) : std::string(no_store));
  text += fmt::format("exclusive {}\nshared {}\n", exclusive_.to_string(), shared_.to_string());
  for (const auto& [slot, token] : slots_) text += fmt::format("slot {} {}\n", slot, token.to_string());
  return text + "end\n";  // without it a cut file would forget a slot
}

Result<Marks> Marks::parse(std::string_view text) {
  std::string_view rest = text;
  std::uint64_t layout = 0;
  if (!parse_number(take_line(rest, fence_heading), layout) || layout == 0) return not_marks();
  if (layout > current_layout) {
    return {Errc::unsupported,
            fmt::format("it has layout {}, this pawl knows {} only: use the newer pawl that wrote it", layout,
                        current_layout)};
  }
  const auto kind = parse_kind(take_line(rest, "kind "));
  const auto name = base::decode_name(take_line(rest, "name "));
  if (!kind || !name || !base::LockName::make(*name)) return not_marks();
  Marks marks(*kind, *name);
  if (layout > 1 && !take_store(take_line(rest, "store "), marks.store_)) return not_marks();
  if (!take_token(take_line(rest, "exclusive "), marks.exclusive_)) return not_marks();
  if (!take_token(take_line(rest, "shared "), marks.shared_)) return not_marks();
  while (rest.starts_with("slot ")) {
    if (!take_slot(take_line(rest, "slot "), marks.slots_)) return not_marks();
  }
  if (marks.to_text(layout) != text) return not_marks();
  return marks;
}

}  // namespace pawl::fencing
