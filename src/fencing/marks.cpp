#include "fencing/marks.hpp"

#include "base/lock_name.hpp"
#include "fencing/text.hpp"

#include <fmt/format.h>

#include <limits>

namespace pawl::fencing {

namespace {

constexpr std::string_view heading = "pawl-fence ";

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

Token Marks::mark_for(const Sequencer& sequencer) const {
  if (kind_ != Kind::permits) return exclusive_;
  const auto at = slots_.find(*sequencer.slot);
  return at == slots_.end() ? Token{} : at->second;
}

Result<void> Marks::check(const Sequencer& sequencer) const {
  if (auto shape = check_shape(sequencer); !shape) return shape;
  const auto overtaken = [&](Token by, std::string_view whom) -> Result<void> {
    return {Errc::overtaken, fmt::format("token {} of {} is overtaken: {} with {} has been here",
                                         sequencer.token.to_string(), lock(), whom, by.to_string())};
  };
  if (const Token mark = mark_for(sequencer); sequencer.token < mark) return overtaken(mark, "a later holder");
  const bool writer = kind_ == Kind::rw && sequencer.mode == Mode::exclusive;
  if (writer && sequencer.token <= shared_) return overtaken(shared_, "a reader");
  return {};
}

Result<bool> Marks::admit(const Sequencer& sequencer) {
  if (auto checked = check(sequencer); !checked) return checked.error();
  const bool reader = sequencer.mode == Mode::shared;
  Token& mark = kind_ == Kind::permits ? slots_[*sequencer.slot] : reader ? shared_ : exclusive_;
  // A reader may be behind other readers: S is the highest of them and never goes down.
  if (sequencer.token <= mark) return false;
  mark = sequencer.token;
  return true;
}

std::string Marks::to_text() const {
  std::string text =
      fmt::format("{}{}\nkind {}\nname {}\nexclusive {}\nshared {}\n", heading, current_layout, to_string(kind_),
                  base::encode_name(name_), exclusive_.to_string(), shared_.to_string());
  for (const auto& [slot, token] : slots_) text += fmt::format("slot {} {}\n", slot, token.to_string());
  return text + "end\n";  // without it a cut file would forget a slot
}

Result<Marks> Marks::parse(std::string_view text) {
  std::string_view rest = text;
  std::uint64_t layout = 0;
  if (!parse_number(take_line(rest, heading), layout)) return not_marks();
  if (layout > current_layout) {
    return {Errc::unsupported,
            fmt::format("it has layout {}, this pawl knows {} only: use the newer pawl that wrote it", layout,
                        current_layout)};
  }
  const auto kind = parse_kind(take_line(rest, "kind "));
  const auto name = base::decode_name(take_line(rest, "name "));
  if (!kind || !name || !base::LockName::make(*name)) return not_marks();
  Marks marks(*kind, *name);
  if (!take_token(take_line(rest, "exclusive "), marks.exclusive_)) return not_marks();
  if (!take_token(take_line(rest, "shared "), marks.shared_)) return not_marks();
  while (rest.starts_with("slot ")) {
    if (!take_slot(take_line(rest, "slot "), marks.slots_)) return not_marks();
  }
  if (marks.to_text() != text) return not_marks();
  return marks;
}

}  // namespace pawl::fencing
