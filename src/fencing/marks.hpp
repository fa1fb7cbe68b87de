#pragma once

#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pawl::fencing {

/// What a fence remembers of one lock, and the rule by which it admits.
///
/// | kind            | sequencer | admitted if      | raises        |
/// |-----------------|-----------|------------------|---------------|
/// | mutex, election | exclusive | t >= X           | X             |
/// | rw              | exclusive | t >= X and t > S | X             |
/// | rw              | shared    | t >= X           | S             |
/// | permits         | slot n    | t >= mark of n   | the mark of n |
///
/// The same token comes again with every write of its holder, hence >=. A writer must be above every reader, hence >:
/// a reader who downgraded carries the writer's own token, and from then on that token is a reader's.
///
/// Text: the lines `pawl-fence 1`, `kind`, `name`, `exclusive`, `shared`, one `slot` per mark, and `end`.
/// Errors: overtaken; invalid_argument for a sequencer of another lock or one that no grant can have. The store id is
///         not compared: order comes from the token.
/// Threads: none of its own.
class Marks {
 public:
  static constexpr std::uint64_t current_layout = 1;

  /// `name` is a valid lock name.
  Marks(Kind kind, std::string_view name) : kind_(kind), name_(name) {}

  Result<void> check(const Sequencer& sequencer) const;
  /// check(), then raises the mark. True: a mark has changed.
  Result<bool> admit(const Sequencer& sequencer);

  bool same_lock(const Marks& other) const { return kind_ == other.kind_ && name_ == other.name_; }
  /// `mutex "billing"`
  std::string lock() const;

  std::string to_text() const;
  /// Errors: unsupported for a newer layout, invalid_argument for text that to_text() never makes.
  static Result<Marks> parse(std::string_view text);

  friend bool operator==(const Marks&, const Marks&) = default;

 private:
  Result<void> check_shape(const Sequencer& sequencer) const;
  Token mark_for(const Sequencer& sequencer) const;

  Kind kind_;
  std::string name_;
  Token exclusive_;  // X
  Token shared_;     // S
  std::map<std::uint32_t, Token> slots_;
};

}  // namespace pawl::fencing
