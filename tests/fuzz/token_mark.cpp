// The file `tokens` and the epoch records of all stores: there is one text for each, and no damaged one is believed.

#include "fencing/epoch.hpp"
#include "store/file/token_file.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <pawl/token.hpp>

namespace pawl::fuzz::token_mark {

using fencing::EpochRecord;
using store::file::TokenMark;

void check_mark(std::string_view text) {
  const auto mark = TokenMark::parse(text);
  if (!mark) return must(mark.code() == Errc::unsupported, "a mark is whole, not whole, or of a newer layout");
  if (!*mark) return;
  must((*mark)->to_text() == text, "a mark has one text");
  std::string torn((*mark)->to_text());
  torn.pop_back();
  const auto read = TokenMark::parse(torn);
  must(read && !*read, "a mark that lacks its end is not whole");
}

void check_epoch(std::string_view text) {
  const auto record = EpochRecord::parse(text);
  if (!record) {
    const bool expected = record.code() == Errc::invalid_argument || record.code() == Errc::unsupported;
    return must(expected, "what is no epoch record is told as such");
  }
  must(record->to_text() == text, "an epoch record has one text");
  must(record->epoch <= Token::max_epoch, "an epoch fits into a token");
  const auto next = fencing::next_epoch(record->epoch, 1'700'000'000'000);
  if (next) must(*next > record->epoch && *next <= Token::max_epoch, "epochs grow");
  const TokenMark mark{*record, record->epoch};
  const auto read = TokenMark::parse(mark.to_text());
  must(read && *read && **read == mark, "a mark comes back from its text");
}

void run(std::string_view input) {
  check_mark(input);
  check_epoch(input);
}

}  // namespace pawl::fuzz::token_mark

PAWL_FUZZ_TARGET(token_mark, pawl::fuzz::token_mark::run);
