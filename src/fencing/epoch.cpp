#include "fencing/epoch.hpp"

#include <pawl/token.hpp>

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "fencing/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::fencing {

namespace {

constexpr std::string_view epoch_heading = "pawl-epoch";

Error refused(std::string_view text) {
  return {Errc::invalid_argument, fmt::format("\"{}\" is not an epoch record of pawl", base::printable(text))};
}

/// The value of the next `key=value`, up to the next blank.
std::string_view take_value(std::string_view& text, std::string_view key) {
  const auto field = take_until(text, ' ');
  return field.starts_with(key) ? field.substr(key.size()) : std::string_view{};
}

}  // namespace

std::string EpochRecord::to_text() const {
  return fmt::format("{} {} epoch={} store={} identity={}", epoch_heading, layout, epoch, base::hex(store_id),
                     base::encode_name(identity));
}

Result<EpochRecord> EpochRecord::parse(std::string_view text) {
  std::string_view rest = text;
  EpochRecord out;
  std::uint64_t layout = 0;
  if (take_until(rest, ' ') != epoch_heading || !parse_number(take_until(rest, ' '), layout)) return refused(text);
  if (layout > current_layout) {
    return {Errc::unsupported,
            fmt::format("the store's epoch record has layout {}, this pawl knows {} only: use the newer "
                        "pawl that wrote it",
                        layout, current_layout)};
  }
  if (!parse_number(take_value(rest, "epoch="), out.epoch) || out.epoch > Token::max_epoch) return refused(text);
  if (!base::parse_hex(take_value(rest, "store="), out.store_id)) return refused(text);
  auto identity = base::decode_name(take_value(rest, "identity="));
  if (!identity) return refused(text);
  out.identity = std::move(*identity);
  if (out.to_text() != text) return refused(text);
  return out;
}

Result<std::uint64_t> next_epoch(std::uint64_t old, std::uint64_t unix_ms) {
  const std::uint64_t next = std::max(old < Token::max_epoch ? old + 1 : old, unix_ms);
  if (old >= Token::max_epoch || next > Token::max_epoch) {
    return {Errc::unsupported,
            fmt::format("no epoch is left: the last one was {}, the wall clock says {} ms, the largest is {}", old,
                        unix_ms, Token::max_epoch)};
  }
  return next;
}

Result<EpochDecision> decide(const std::optional<EpochRecord>& found, std::string_view identity, std::uint64_t unix_ms,
                             std::uint64_t fresh_store_id) {
  EpochDecision out;
  if (found) out.record = *found;
  if (out.record.store_id == 0) {
    out.record.store_id = fresh_store_id;
    out.must_write = true;
  }
  if (!found || found->identity != identity) {
    const auto epoch = next_epoch(out.record.epoch, unix_ms);
    if (!epoch) return epoch.error();
    out.record.epoch = *epoch;
    out.record.identity = identity;
    out.must_write = true;
  }
  return out;
}

}  // namespace pawl::fencing
