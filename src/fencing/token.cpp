#include <pawl/token.hpp>

#include "base/ids.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>

namespace pawl {

std::string Token::to_string() const { return base::hex(epoch_ << 16 | counter_ >> 48, counter_ << 16 | sub_); }

Result<Token> Token::parse(std::string_view text) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  if (!base::parse_hex(text, high, low)) {
    return {Errc::invalid_argument,
            fmt::format("\"{}\" is not a token: a token is 32 lower-case hex digits", base::printable(text))};
  }
  return Token(high >> 16, high << 48 | low >> 16, static_cast<std::uint16_t>(low & 0xFFFF));
}

Result<std::uint64_t> Token::value64() const {
  constexpr int sub_bits = 12;
  if (sub_ >> sub_bits != 0 || counter_ >> (64 - sub_bits) != 0) {
    return {Errc::unsupported, fmt::format("token {} does not fit into 64 bits: compare all 128", to_string())};
  }
  return counter_ << sub_bits | sub_;
}

}  // namespace pawl
