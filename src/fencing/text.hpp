#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

/// Reading the small texts that fencing keeps in stores and files.
namespace pawl::fencing {

/// What stands before the next `end`, or everything when there is none; `text` goes on behind it.
inline std::string_view take_until(std::string_view& text, char end) {
  const auto field = text.substr(0, text.find(end));
  text.remove_prefix(field.size() < text.size() ? field.size() + 1 : field.size());
  return field;
}

/// A decimal number as we write it: no sign, no leading zeros, at most 2^64 - 1.
inline bool parse_number(std::string_view text, std::uint64_t& number) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc{} && end == last && std::to_string(number) == text;
}

}  // namespace pawl::fencing
