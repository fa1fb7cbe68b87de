// A fence's file, and what a fence makes of a sequencer: marks only grow.
// Input: the file, a zero byte, a sequencer.

#include "fencing/marks.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace pawl::fuzz::fence_marks {

using fencing::Marks;

void check_admission(Marks marks, const Sequencer& sequencer) {
  const Marks before = marks;
  const bool checked = bool(marks.check(sequencer));
  const auto admitted = marks.admit(sequencer);
  must(admitted.has_value() == checked, "check() and admit() agree");
  if (!admitted) return must(marks == before, "a refusal changes nothing");
  must(*admitted == !(marks == before), "admit() tells whether something has changed");
  const auto again = marks.admit(sequencer);
  const bool writer = sequencer.kind == Kind::rw && sequencer.mode == Mode::exclusive;
  must(again && !*again, "who was admitted may write again");
  Sequencer older = sequencer;
  older.token = Token(0, 0, 1);
  if (!writer && sequencer.mode == Mode::exclusive && older.token < sequencer.token) {
    must(!marks.check(older), "an older token is overtaken");
  }
  must(Marks::parse(marks.to_text()).has_value(), "marks that were raised can be read");
}

void run(std::string_view input) {
  const std::string_view file = take_part(input, '\0');
  const auto marks = Marks::parse(file);
  if (!marks) {
    const bool expected = marks.code() == Errc::invalid_argument || marks.code() == Errc::unsupported;
    return must(expected, "what is no fence's file is told as such");
  }
  const auto again = Marks::parse(marks->to_text());
  must(again && *again == *marks, "marks come back from their text");
  if (const auto sequencer = Sequencer::parse(input)) check_admission(*marks, *sequencer);
}

}  // namespace pawl::fuzz::fence_marks

PAWL_FUZZ_TARGET(fence_marks, pawl::fuzz::fence_marks::run);
