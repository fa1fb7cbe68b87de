#include "apps/cli/json.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace pawl::cli {

namespace {

/// How many bytes the character at the beginning of the text has; 0 when it is not UTF-8.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  const bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::string json_of_owner(const Owner& owner) {
  return fmt::format("\"host\": {}, \"pid\": {}, \"label\": {}, \"foreign\": {}", json_quote(owner.host), owner.pid,
                     json_quote(owner.label), owner.foreign);
}

std::string json_of_value(std::string_view value) {
  return fmt::format("\"value\": {}, \"encoded_value\": {}", json_quote(value), json_quote(base::encode_name(value)));
}

std::string json_of_claim(const ClaimView& claim, Kind kind, bool holds) {
  std::string out =
      fmt::format("{{\"claim\": {}, \"mode\": {}, {}, \"age_ms\": {}, \"lease_left_ms\": {}, \"release_requested\": {}",
                  json_quote(claim.claim), json_quote(to_string(claim.mode)), json_of_owner(claim.owner),
                  milliseconds(claim.age), milliseconds(claim.lease_left), claim.release_requested);
  if (holds) out += fmt::format(", \"token\": {}", json_quote(claim.token.to_string()));
  if (kind == Kind::permits) out += fmt::format(", \"permits\": {}", claim.permits);
  if (kind == Kind::permits && holds) out += fmt::format(", \"slots\": [{}]", fmt::join(claim.slots, ", "));
  if (kind == Kind::election) out += ", " + json_of_value(claim.value);
  return out + "}";
}

std::string json_of_claims(const std::vector<ClaimView>& claims, Kind kind, bool hold) {
  std::vector<std::string> rows;
  rows.reserve(claims.size());
  for (const ClaimView& claim : claims) rows.push_back("\n      " + json_of_claim(claim, kind, hold));
  return fmt::format("[{}]", fmt::join(rows, ","));
}

std::string json_of_view(const LockView& view) {
  const std::string permits = view.kind == Kind::permits ? fmt::format(", \"permits\": {}", view.permits) : "";
  return fmt::format(
      "    {{\"name\": {}, \"encoded_name\": {}, \"kind\": {}, \"scheme\": {}, \"shut_for_ms\": {}{},\n"
      "     \"holders\": {},\n"
      "     \"waiters\": {}}}",
      json_quote(view.name), json_quote(base::encode_name(view.name)), json_quote(to_string(view.kind)),
      json_quote(view.scheme), milliseconds(view.shut_for), permits, json_of_claims(view.holders, view.kind, true),
      json_of_claims(view.waiters, view.kind, false));
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text.front();
    if (size == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out += '"';
}

std::string json_of(const std::vector<LockView>& views) {
  if (views.empty()) return "[]";
  std::vector<std::string> rows;
  rows.reserve(views.size());
  for (const LockView& view : views) rows.push_back(json_of_view(view));
  return fmt::format("[\n{}\n  ]", fmt::join(rows, ",\n"));
}

std::string json_of(const Leader& leader) {
  return fmt::format("{{{}, \"token\": {}, {}, \"age_ms\": {}}}", json_of_value(leader.value),
                     json_quote(leader.token.to_string()), json_of_owner(leader.owner), milliseconds(leader.age));
}

std::string json_document(std::string_view members) {
  return fmt::format("{{\n  \"version\": 1,\n  {}\n}}\n", members);
}

std::string json_line(std::string_view members) { return fmt::format("{{\"version\": 1, {}}}\n", members); }

}  // namespace pawl::cli
