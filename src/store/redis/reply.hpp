#pragma once

#include <pawl/result.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

/// What the server answers.
struct Reply {
  enum class Type : std::uint8_t { nil, integer, text, error, array } type = Type::nil;
  std::int64_t integer = 0;
  std::string text = {};  ///< also of an error
  std::vector<Reply> items = {};

  bool is(std::string_view word) const { return type == Type::text && text == word; }
  /// As a number: an integer, or digits; 0 for anything else.
  std::int64_t number() const;
};

/// A command, or part of one, as it goes over the wire.
class Words {
 public:
  Words() = default;
  Words(std::initializer_list<std::string_view> words);

  void push_back(std::string_view word);
  /// All of them behind ours.
  void append(const Words& words);

  /// At the end of `bytes`.
  void write_to(std::string& bytes) const;

 private:
  std::size_t count_ = 0;
  std::string body_;
};

std::string encode(const Words& words);

/// Bytes in, replies out; the parsing is hiredis'.
class ReplyReader {
 public:
  ReplyReader();

  void feed(std::string_view bytes);
  /// Nothing: more bytes are needed. Errors: store_unavailable when this is not Redis' protocol.
  Result<std::optional<Reply>> next();

 private:
  struct Free {
    void operator()(void* reader) const noexcept;
  };
  std::unique_ptr<void, Free> reader_;
};

/// How error_of() begins for a server that was demoted.
inline constexpr std::string_view replica_sentence = "the server is a replica, and takes no locks";

/// What an error reply means to a caller. None of them was applied, but for outcome_unknown.
Error error_of(const std::string& text);

}  // namespace pawl::store::redis
