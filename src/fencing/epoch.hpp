#pragma once

#include <pawl/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::fencing {

/// What a store keeps so that its tokens never repeat: which life of the store this is, and by what it knows itself.
/// Text: `pawl-epoch 1 epoch=<decimal> store=<16 hex digits> identity=<encoded>`, one line without its end.
struct EpochRecord {
  static constexpr std::uint32_t current_layout = 1;

  std::uint32_t layout = current_layout;
  std::uint64_t epoch = 0;
  std::string identity = {};   ///< Redis run_id, MySQL server_uuid...; empty where a store has none
  std::uint64_t store_id = 0;  ///< written once, kept for ever; 0: not known

  std::string to_text() const;
  /// Errors: unsupported for a layout newer than ours, invalid_argument for text that to_text() never makes.
  static Result<EpochRecord> parse(std::string_view text);

  friend bool operator==(const EpochRecord&, const EpochRecord&) = default;
};

/// max(old + 1, unix_ms): larger than every epoch before, even if the record of those was wiped, as long as the wall
/// clock does not go back behind the last wipe.
/// Errors: unsupported when that is above Token::max_epoch.
Result<std::uint64_t> next_epoch(std::uint64_t old, std::uint64_t unix_ms);

struct EpochDecision {
  EpochRecord record;
  bool must_write = false;  ///< compare-and-set `record` in place of what was found, before any grant
};

/// | found               | epoch | store id    | must_write |
/// |---------------------|-------|-------------|------------|
/// | nothing             | new   | fresh       | yes        |
/// | another identity    | new   | as found    | yes        |
/// | the same identity   | keeps | as found    | no         |
/// A store id that was found as 0 becomes the fresh one, and is written.
Result<EpochDecision> decide(const std::optional<EpochRecord>& found, std::string_view identity, std::uint64_t unix_ms,
                             std::uint64_t fresh_store_id);

}  // namespace pawl::fencing
