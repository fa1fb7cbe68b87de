#pragma once

#include <pawl/fence.hpp>
#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <cstdint>
#include <map>
#include <optional>
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
/// Tokens of two stores have no order, so the marks are pinned to the store of the first sequencer that is admitted.
///
/// | pinned to   | sequencer of  | marks      | follow_new_store | outcome                                           |
/// |-------------|---------------|------------|------------------|---------------------------------------------------|
/// | no store    | any store     | any        | any              | as above; admit() pins                            |
/// | a store     | that store    | any        | any              | as above                                          |
/// | a store     | another store | any        | no               | other_store                                       |
/// | a store     | another store | none       | yes              | other_store: nothing tells which one is newer     |
/// | a store     | another store | some       | yes              | a later epoch than every mark's: as above, and    |
/// |             |               |            |                  | admit() pins to that store; otherwise overtaken   |
///
/// Text: the lines `pawl-fence 2`, `kind`, `name`, `store` (16 hex digits, or - for none), `exclusive`, `shared`, one
/// `slot` per mark, and `end`. Layout 1 had no `store`: it is read as pinned to no store.
/// Errors: overtaken; other_store; invalid_argument for a sequencer of another lock or one that no grant can have.
/// Threads: none of its own.
class Marks {
 public:
  static constexpr std::uint64_t current_layout = 2;

  /// `name` is a valid lock name.
  Marks(Kind kind, std::string_view name) : kind_(kind), name_(name) {}

  Result<void> check(const Sequencer& sequencer, FenceOptions options = {}) const;
  /// check(), then pins and raises the mark. True: something has changed.
  Result<bool> admit(const Sequencer& sequencer, FenceOptions options = {});
  /// Pins to that store and forgets the marks of another one. True: something has changed.
  bool adopt(std::uint64_t store_id);

  bool same_lock(const Marks& other) const { return kind_ == other.kind_ && name_ == other.name_; }
  /// `mutex "billing"`
  std::string lock() const;

  std::string to_text(std::uint64_t layout = current_layout) const;
  /// Errors: unsupported for a newer layout, invalid_argument for text that to_text() never makes.
  static Result<Marks> parse(std::string_view text);

  friend bool operator==(const Marks&, const Marks&) = default;

 private:
  Result<void> check_shape(const Sequencer& sequencer) const;
  Result<void> check_store(const Sequencer& sequencer, FenceOptions options) const;
  Token newest() const;
  Token mark_for(const Sequencer& sequencer) const;

  Kind kind_;
  std::string name_;
  std::optional<std::uint64_t> store_;  // the store whose tokens these are
  Token exclusive_;                     // X
  Token shared_;                        // S
  std::map<std::uint32_t, Token> slots_;
};

}  // namespace pawl::fencing
