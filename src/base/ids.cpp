#include "base/ids.hpp"

namespace pawl::base {

namespace {

constexpr std::size_t digits = 16;

void put(std::uint64_t value, char* out) {
  for (std::size_t i = digits; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 0xF];
}

bool take(std::string_view text, std::uint64_t& value) {
  std::uint64_t sum = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      sum = sum << 4 | static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      sum = sum << 4 | static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
  }
  value = sum;
  return true;
}

}  // namespace

std::string hex(std::uint64_t value) {
  std::string text(digits, '0');
  put(value, text.data());
  return text;
}

std::string hex(std::uint64_t high, std::uint64_t low) {
  std::string text(2 * digits, '0');
  put(high, text.data());
  put(low, text.data() + digits);
  return text;
}

bool parse_hex(std::string_view text, std::uint64_t& value) { return text.size() == digits && take(text, value); }

bool parse_hex(std::string_view text, std::uint64_t& high, std::uint64_t& low) {
  std::uint64_t upper = 0;
  if (text.size() != 2 * digits || !take(text.substr(0, digits), upper) || !take(text.substr(digits), low))
    return false;
  high = upper;
  return true;
}

}  // namespace pawl::base
