#include <pawl/sequencer.hpp>

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "fencing/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace pawl {

namespace {

constexpr std::string_view prefix = "pawl1";

/// pawl1, store id, kind, mode, slot, token, encoded name.
using Fields = std::array<std::string_view, 7>;

Error refused(std::string_view text, std::string_view why) {
  return {Errc::invalid_argument, fmt::format("\"{}\" is not a sequencer: {}", base::printable(text), why)};
}

/// The name comes last and keeps its dots. False when there are too few fields.
bool split(std::string_view text, Fields& fields) {
  for (std::size_t i = 0; i + 1 < fields.size(); ++i) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return false;
    fields[i] = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  fields.back() = text;
  return true;
}

/// "pawl" and a number other than ours: made by another version of pawl.
bool other_version(std::string_view field) {
  std::uint64_t number = 0;
  return field.starts_with("pawl") && field != prefix && fencing::parse_number(field.substr(4), number);
}

bool parse_slot(std::string_view text, std::optional<std::uint32_t>& slot) {
  if (text == "-") return true;
  std::uint64_t number = 0;
  if (!fencing::parse_number(text, number) || number > std::numeric_limits<std::uint32_t>::max()) return false;
  slot = static_cast<std::uint32_t>(number);
  return true;
}

Result<std::string> parse_name(std::string_view text) {
  auto bytes = base::decode_name(text);
  if (!bytes) return bytes;
  if (auto name = base::LockName::make(*bytes); !name) return name.error();
  return bytes;
}

}  // namespace

std::string Sequencer::to_string() const {
  return fmt::format("{}.{}.{}.{}.{}.{}.{}", prefix, base::hex(store_id), pawl::to_string(kind), pawl::to_string(mode),
                     slot ? std::to_string(*slot) : "-", token.to_string(), base::encode_name(name));
}

Result<Sequencer> Sequencer::parse(std::string_view text) {
  if (const auto version = text.substr(0, text.find('.')); other_version(version)) {
    return {Errc::unsupported, fmt::format("\"{}\" was made by another version of pawl: this one reads {} only",
                                           base::printable(text), prefix)};
  }
  Fields fields;
  if (!split(text, fields)) return refused(text, "it has too few fields");
  const auto& [version, store, kind, mode, slot, token, name] = fields;

  Sequencer out;
  if (version != prefix) return refused(text, "it does not begin with pawl1.");
  if (!base::parse_hex(store, out.store_id)) return refused(text, "its store id is not 16 lower-case hex digits");
  if (!parse_slot(slot, out.slot)) return refused(text, "its slot is neither a number nor -");
  const auto parsed_kind = parse_kind(kind);
  const auto parsed_mode = parse_mode(mode);
  const auto parsed_token = Token::parse(token);
  auto parsed_name = parse_name(name);
  if (!parsed_kind) return refused(text, parsed_kind.error().message);
  if (!parsed_mode) return refused(text, parsed_mode.error().message);
  if (!parsed_token) return refused(text, parsed_token.error().message);
  if (!parsed_name) return refused(text, parsed_name.error().message);
  out.kind = *parsed_kind;
  out.mode = *parsed_mode;
  out.token = *parsed_token;
  out.name = std::move(*parsed_name);
  return out;
}

}  // namespace pawl
