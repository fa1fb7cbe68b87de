#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::base {

/// SHA-256 (FIPS 180-4). For names that are too long for a store, so speed does not matter here.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

/// The same as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace pawl::base
