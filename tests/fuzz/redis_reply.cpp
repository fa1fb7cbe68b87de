// What a Redis server sends: the replies do not depend on how the bytes were cut, and whatever they are, the answers that
// are made of them are values.
// Input: one byte that says how to cut, then the bytes of the server.

#include "store/redis/answers.hpp"
#include "store/redis/reply.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <tuple>
#include <utility>
#include <vector>

namespace pawl::fuzz::redis_reply {

using namespace store::redis;

bool same(const Reply& one, const Reply& other) {
  if (one.type != other.type || one.integer != other.integer || one.text != other.text) return false;
  if (one.items.size() != other.items.size()) return false;
  for (std::size_t i = 0; i < one.items.size(); ++i) {
    if (!same(one.items[i], other.items[i])) return false;
  }
  return true;
}

/// All replies up to the end or to the error.
struct Heard {
  std::vector<Reply> replies = {};
  bool broken = false;
};

void hear(ReplyReader& reader, Heard& heard) {
  while (!heard.broken) {
    auto next = reader.next();
    heard.broken = !next;
    if (!next || !*next) return;
    heard.replies.push_back(std::move(**next));
  }
}

Heard hear_in_parts(std::string_view bytes, std::size_t size) {
  ReplyReader reader;
  Heard heard;
  while (!bytes.empty() && !heard.broken) {
    const std::string_view part = bytes.substr(0, size);
    reader.feed(part);
    hear(reader, heard);
    bytes.remove_prefix(part.size());
  }
  return heard;
}

store::Claim some_claim() {
  const store::LockKey key{Kind::permits, store::LockName::make("job").value()};
  return {.id = {1, 2}, .session = {3, 4}, .key = key, .permits = {1, 3}};
}

void answer(const Reply& reply) {
  static const store::Claim claim = some_claim();
  const auto state = state_of(reply, claim);
  if (!state) must(!state.error().message.empty(), "an error has a sentence");
  std::ignore = standing_of(reply);
  if (reply.items.size() >= 2) std::ignore = renewal_of(reply);
  const auto view = view_of(claim.key, "queue", reply);
  if (view) must(view->holders.size() <= reply.items[3].items.size(), "no holder is made up");
  if (reply.type == Reply::Type::error) must(error_of(reply.text).code != Errc{}, "an error reply is an error");
}

/// A command is an array of texts, so what we write can be read as a reply.
void check_words(std::string_view input) {
  Words words;
  std::vector<std::string_view> parts;
  while (!input.empty() && parts.size() < 50) parts.push_back(take_part(input, ' '));
  for (const std::string_view part : parts) words.push_back(part);
  const Heard heard = hear_in_parts(encode(words), 7);
  must(heard.replies.size() == 1 && heard.replies[0].items.size() == parts.size(), "a command is one array");
  for (std::size_t i = 0; i < parts.size(); ++i) must(heard.replies[0].items[i].is(parts[i]), "its words are whole");
}

void run(std::string_view input) {
  const std::size_t size = take_byte(input) + std::size_t{1};
  const Heard whole = hear_in_parts(input, input.size());
  const Heard parts = hear_in_parts(input, size);
  must(whole.broken == parts.broken, "bytes are good or bad however they are cut");
  must(whole.replies.size() == parts.replies.size(), "there are as many replies however they are cut");
  for (std::size_t i = 0; i < whole.replies.size(); ++i) {
    must(same(whole.replies[i], parts.replies[i]), "replies are the same however they are cut");
    answer(whole.replies[i]);
  }
  check_words(input);
}

}  // namespace pawl::fuzz::redis_reply

PAWL_FUZZ_TARGET(redis_reply, pawl::fuzz::redis_reply::run);
