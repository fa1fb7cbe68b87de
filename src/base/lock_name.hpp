#pragma once

#include <pawl/result.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::base {

/// A lock's name as the user gave it: any bytes, 1 to 4,096 of them.
class LockName {
 public:
  static constexpr std::size_t max_size = 4096;

  /// Errors: invalid_argument for an empty name or one that is too long.
  static Result<LockName> make(std::string_view bytes);

  const std::string& bytes() const { return bytes_; }
  /// For messages: printable, quoted, cut when long.
  std::string quoted() const;

  friend auto operator<=>(const LockName&, const LockName&) = default;

 private:
  explicit LockName(std::string_view bytes) : bytes_(bytes) {}
  std::string bytes_;
};

/// Injective and readable: letters, digits, `-`, `_` and `.` (not as the first byte) stand for themselves, every other
/// byte is %XX with upper-case digits.
std::string encode_name(std::string_view bytes);
/// The bytes back. Errors: invalid_argument for text that encode_name would not have made.
Result<std::string> decode_name(std::string_view text);

/// encode_name(bytes) if it fits into `max` bytes (at least 80); else `~`, the SHA-256 of the bytes in hex, `-` and a
/// readable beginning. No encoded name begins with `~`, so the two never meet.
std::string fit_name(std::string_view bytes, std::size_t max);

/// Any text made fit for a log line or an error: control bytes and quotes escaped, cut to `max` with "...".
std::string printable(std::string_view bytes, std::size_t max = 120);

}  // namespace pawl::base
