#include "base/lock_name.hpp"

#include "base/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

namespace pawl::base {

namespace {

constexpr std::size_t smallest_fit = 80;

constexpr bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

void put_percent(std::string& out, char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  out += '%';
  out += "0123456789ABCDEF"[byte >> 4];
  out += "0123456789ABCDEF"[byte & 0xF];
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// How many bytes of `encoded` fit into `room` without cutting a %XX in two.
std::size_t whole_prefix(std::string_view encoded, std::size_t room) {
  std::size_t cut = std::min(room, encoded.size());
  const std::size_t percent = encoded.substr(0, cut).rfind('%');
  if (percent != std::string_view::npos && percent + 3 > cut) cut = percent;
  return cut;
}

/// One character of UTF-8: how many bytes, and which.
struct Character {
  std::size_t size = 0;  ///< 0: not well-formed
  std::uint32_t code = 0;
};

Character next_utf8(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text.front());
  const std::size_t size = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (size == 1) return {1, first};
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = code << 6 | (byte & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < smallest[size] || surrogate || code > 0x10FFFF ? Character{} : Character{size, code};
}

/// Controls, and the invisible characters with which a text can end a line or turn its direction round.
bool harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0) || code == '"' || code == '\\') return false;
  const bool invisible = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
  return !invisible;
}

std::string escaped(char c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '"': return "\\\"";
    case '\\': return "\\\\";
    default: return fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
  }
}

}  // namespace

Result<LockName> LockName::make(std::string_view bytes) {
  if (bytes.empty()) return {Errc::invalid_argument, "a lock's name must not be empty"};
  if (bytes.size() > max_size) {
    return {Errc::invalid_argument, fmt::format("the lock name \"{}\" has {} bytes, more than {}", printable(bytes, 60),
                                                bytes.size(), max_size)};
  }
  return LockName(bytes);
}

std::string LockName::quoted() const { return '"' + printable(bytes_) + '"'; }

std::string encode_name(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    // ZooKeeper refuses nodes named "." and "..", and a leading dot hides files.
    if (plain(c) && !(c == '.' && i == 0)) {
      out += c;
    } else {
      put_percent(out, c);
    }
  }
  return out;
}

Result<std::string> decode_name(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return {Errc::invalid_argument,
              fmt::format("in \"{}\" a % is not followed by two upper-case hex digits", printable(text))};
    }
    bytes += static_cast<char>(high << 4 | low);
    i += 2;
  }
  // One name has one text, or else two texts could stand for one lock.
  if (encode_name(bytes) != text) {
    return {Errc::invalid_argument, fmt::format("\"{}\" is not how pawl writes a lock's name", printable(text))};
  }
  return bytes;
}

std::string fit_name(std::string_view bytes, std::size_t max) {
  assert(max >= smallest_fit);
  std::string encoded = encode_name(bytes);
  if (encoded.size() <= max) return encoded;
  std::string fitted = '~' + sha256_hex(bytes) + '-';
  const std::size_t room = std::max(max, smallest_fit) - fitted.size();
  return fitted.append(encoded, 0, whole_prefix(encoded, room));
}

std::string printable(std::string_view bytes, std::size_t max) {
  std::string out;
  std::size_t cut = 0;  // the longest beginning that leaves room for the dots
  while (!bytes.empty()) {
    const Character next = next_utf8(bytes);
    const std::size_t size = std::max<std::size_t>(next.size, 1);
    if (next.size > 0 && harmless(next.code)) {
      out += bytes.substr(0, size);
    } else {
      for (const char c : bytes.substr(0, size)) out += escaped(c);
    }
    bytes.remove_prefix(size);
    if (out.size() > max) return out.substr(0, cut) + std::string("...").substr(0, max);
    if (out.size() + 3 <= max) cut = out.size();
  }
  return out;
}

}  // namespace pawl::base
