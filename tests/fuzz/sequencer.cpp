// Sequencers and tokens: one text for one sequencer, and the order of the texts is that of the tokens.

#include <pawl/sequencer.hpp>

#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

namespace pawl::fuzz::sequencer {

void check_tokens(std::string_view one, std::string_view other) {
  const auto first = Token::parse(one);
  const auto second = Token::parse(other);
  if (first) must(first->to_string() == one, "a token has one text");
  if (!first || !second) return;
  must((*first < *second) == (one < other), "tokens are ordered like their texts");
  const auto small = first->value64();
  const auto large = second->value64();
  if (!small || !large || first->epoch() != second->epoch()) return;
  must((*first < *second) == (*small < *large), "tokens of one epoch are ordered like their 64-bit values");
}

void run(std::string_view input) {
  const auto read = Sequencer::parse(input);
  if (read) {
    must(read->to_string() == input, "a sequencer has one text");
    must(*Sequencer::parse(read->to_string()) == *read, "a sequencer comes back from its text");
    must(!read->name.empty() && read->name.size() <= 4096, "a sequencer names a lock that can be");
  } else {
    const bool expected = read.code() == Errc::invalid_argument || read.code() == Errc::unsupported;
    must(expected, "what is no sequencer is an invalid argument, or that of another version");
  }
  const std::string_view half = input.substr(0, input.size() / 2);
  check_tokens(half, input.substr(half.size()));
  check_tokens(input.substr(0, std::min<std::size_t>(32, input.size())),
               input.substr(std::min<std::size_t>(32, input.size())));
}

}  // namespace pawl::fuzz::sequencer

PAWL_FUZZ_TARGET(sequencer, pawl::fuzz::sequencer::run);
