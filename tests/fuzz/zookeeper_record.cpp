// What stands in ZooKeeper's nodes: whatever can be read is written in one way, and read again as the same.

#include "store/record.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace pawl::fuzz::zookeeper_record {

using namespace store;

void check_words(std::string_view text) {
  const auto words = Words::parse(text);
  if (!words) return;
  const std::string written = words->to_text();
  const auto again = Words::parse(written);
  must(again.has_value(), "words that were written can be read");
  must(again->to_text() == written, "words are written in one way");
  must(written.size() <= text.size(), "words take no more room than they took");
}

void check_record(std::string_view text) {
  const auto record = Record::parse(text);
  if (!record) return;
  const std::string written = record->to_text();
  const auto again = Record::parse(written);
  must(again.has_value(), "a record that was written can be read");
  must(again->to_text() == written, "a record is written in one way");
  must(again->id == record->id && again->owner.host == record->owner.host && again->owner.pid == record->owner.pid &&
           again->owner.label == record->owner.label && again->value == record->value && again->name == record->name,
       "a record is the same when it is read again");
  must(again->mode == record->mode && again->slots == record->slots && again->lease == record->lease &&
           again->lock_delay == record->lock_delay && again->epoch == record->epoch && again->token == record->token &&
           again->release_requested == record->release_requested,
       "a record is the same when it is read again");
  must(record->lease >= Duration::zero() && record->lock_delay >= Duration::zero(), "no lease is negative");
}

void check_notes(std::string_view text) {
  const Notes notes = Notes::parse(text);
  const Notes again = Notes::parse(notes.to_text());
  must(again.to_text() == notes.to_text(), "notes are written in one way");
  must(!again.foreign && again.delayed == notes.delayed, "our notes are not somebody else's");
  must(again.reigns.size() == notes.reigns.size(), "no reign is forgotten");
}

void run(std::string_view input) {
  check_words(input);
  check_record(input);
  check_notes(input);
}

}  // namespace pawl::fuzz::zookeeper_record

PAWL_FUZZ_TARGET(zookeeper_record, pawl::fuzz::zookeeper_record::run);
