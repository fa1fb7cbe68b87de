#pragma once

#include <pawl/result.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// The fencing token of a grant: 128 bits, 48 epoch, 64 counter, 16 sub.
/// Promise: of two grants that exclude each other, the later one has the larger token.
/// Text:    32 lower-case hex digits, so that the order of the bytes is the order of the tokens.
class Token {
 public:
  static constexpr std::uint64_t max_epoch = (std::uint64_t{1} << 48) - 1;

  /// The smallest token; no grant ever has it.
  constexpr Token() = default;

  /// `epoch` above max_epoch is cut to it.
  constexpr Token(std::uint64_t epoch, std::uint64_t counter, std::uint16_t sub = 0)
      : epoch_(epoch > max_epoch ? max_epoch : epoch), counter_(counter), sub_(sub) {}

  /// Which life of the store handed it out: grows when a store was wiped or restored.
  constexpr std::uint64_t epoch() const { return epoch_; }
  /// The store's count of grants.
  constexpr std::uint64_t counter() const { return counter_; }
  /// Counts hand-offs inside one client, without asking the store.
  constexpr std::uint16_t sub() const { return sub_; }

  /// The same grant of the store, for the n-th local holder.
  constexpr Token with_sub(std::uint16_t sub) const { return Token(epoch_, counter_, sub); }

  std::string to_string() const;
  static Result<Token> parse(std::string_view text);

  /// For resources that can only compare integers: counter << 12 | sub.
  /// Limit:  orders tokens of one epoch only. After the store was wiped or restored it may go back.
  /// Errors: unsupported for sub >= 4096 or counter >= 2^52, which do not fit.
  Result<std::uint64_t> value64() const;

  friend constexpr auto operator<=>(const Token&, const Token&) = default;

 private:
  std::uint64_t epoch_ = 0;
  std::uint64_t counter_ = 0;
  std::uint16_t sub_ = 0;
};

}  // namespace pawl
