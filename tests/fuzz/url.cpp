// URLs: what redacted() prints is the same URL without its credentials, and no password shows in an error.
// Input: any text is a URL; and, with line's ends in it: what stands before a password, the password, what follows.

#include "base/url.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <utility>

namespace pawl::fuzz::url {

using base::Url;

bool same(const Url& one, const Url& other) {
  return one.scheme == other.scheme && one.has_authority == other.has_authority && one.hosts == other.hosts &&
         one.path == other.path && one.options == other.options;
}

void check_text(std::string_view text) {
  auto read = Url::parse(text);
  if (!read) return must(read.code() == Errc::invalid_argument, "what is no URL is an invalid argument");
  read->credentials.reset();
  const auto again = Url::parse(read->redacted());
  must(again.has_value(), "a URL that was printed can be read");
  must(same(*read, *again), "a URL that was printed is the same URL");
  must(again->redacted() == read->redacted(), "a URL is printed in one way");
}

/// Letters of a marker that stands nowhere else, so that it is found wherever it shows.
std::string secret_of(std::string_view bytes) {
  std::string secret = "Zq9";
  for (const char c : bytes) secret += static_cast<unsigned char>(c) < ' ' || c == '#' ? '_' : c;
  return secret + "9qZ";
}

void check_secret(std::string_view before, std::string_view secret_bytes, std::string_view behind) {
  const std::string secret = secret_of(secret_bytes);
  const std::string text = std::string(before) + ":" + secret + "@" + std::string(behind);
  const auto read = Url::parse(text);
  const std::string shown = read ? read->redacted() : read.error().message;
  must(shown.find("Zq9") == std::string::npos && shown.find("9qZ") == std::string::npos, "no password is shown");
}

void run(std::string_view input) {
  check_text(input);
  const auto has = [&](std::string_view part) { return input.find(part) != std::string_view::npos; };
  if (!has("\n") || has("Zq9") || has("9qZ")) return;
  const std::string_view before = take_part(input, '\n');
  const std::string_view secret = take_part(input, '\n');
  check_secret("redis://" + std::string(before), secret, input);
}

}  // namespace pawl::fuzz::url

PAWL_FUZZ_TARGET(url, pawl::fuzz::url::run);
