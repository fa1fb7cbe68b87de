#pragma once

#include <pawl/result.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pawl::base {

/// 128 random bits with a type of their own, so that two kinds of id never stand in for each other.
template <class Tag>
struct Id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  constexpr explicit operator bool() const { return (high | low) != 0; }
};

using ClaimId = Id<struct ClaimTag>;
using SessionId = Id<struct SessionTag>;

/// 16 lower-case hex digits.
std::string hex(std::uint64_t value);
/// 32 lower-case hex digits.
std::string hex(std::uint64_t high, std::uint64_t low);
/// Exactly 16 (32) lower-case hex digits, or false and nothing is changed.
bool parse_hex(std::string_view text, std::uint64_t& value);
bool parse_hex(std::string_view text, std::uint64_t& high, std::uint64_t& low);

template <class Tag>
std::string to_string(const Id<Tag>& id) {
  return hex(id.high, id.low);
}

}  // namespace pawl::base

template <class Tag>
struct std::hash<pawl::base::Id<Tag>> {
  std::size_t operator()(const pawl::base::Id<Tag>& id) const noexcept {
    return id.high ^ (id.low * 0x9E3779B97F4A7C15);
  }
};
