// Letters that a Redis server publishes: what was not sealed with our secret is not read, and what was says what it says.

#include "store/redis/letter.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace pawl::fuzz::redis_letter {

using store::Notice;
using store::redis::Letter;
using store::redis::sealed;

constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";

void check_sealed(std::string_view said) {
  const std::string text = sealed(said, secret);
  const auto cautious = Letter::read(text, secret, false);
  const auto believing = Letter::read(text, secret, true);
  must(cautious.has_value() == believing.has_value(), "whether it is a letter does not depend on belief");
  if (!cautious) return;
  must(cautious->notice.what != Notice::What::granted, "a grant that is not believed is asked for");
  must(said.starts_with(to_string(cautious->claim) + " "), "a letter is for the claim that it names");
  must(cautious->claim == believing->claim, "a letter is for one claim");
  must(!Letter::read(text + " ", secret, true), "nothing can be appended to a letter");
  must(!Letter::read(text, "another", true), "a letter for another client is not ours");
}

void run(std::string_view input) {
  check_sealed(input);
  const auto read = Letter::read(input, secret, true);
  // The fuzzer does not know SHA-1's way back, so what it makes must be refused.
  if (read) must(input == sealed(input.substr(41), secret), "a letter is sealed with our secret");
}

}  // namespace pawl::fuzz::redis_letter

PAWL_FUZZ_TARGET(redis_letter, pawl::fuzz::redis_letter::run);
