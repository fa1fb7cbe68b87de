#include "store/redis/reply.hpp"

#include "base/lock_name.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <charconv>
#include <new>
#include <utility>

namespace pawl::store::redis {

namespace {

constexpr std::size_t most_items = 1 << 20;  // of an array, whatever its first line says

// hiredis tells what it reads, and where in the answer that belongs; we build our own of it.

/// Room for an item is made when it comes, and not when its array says how many there will be. The items before it may
/// move: hiredis is done with them.
Reply* place_of(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->items.emplace_back();
}

template <class Fill>
void* build(const redisReadTask* task, Fill fill) noexcept {
  Reply* reply = nullptr;
  try {
    reply = place_of(task);
    fill(*reply);
    return reply;
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete reply;
    return nullptr;  // hiredis says so
  }
}

redisReplyObjectFunctions make_builders() {
  redisReplyObjectFunctions make{};
  make.createString = [](const redisReadTask* task, char* text, std::size_t size) {
    return build(task, [&](Reply& reply) {
      reply.type = task->type == REDIS_REPLY_ERROR ? Reply::Type::error : Reply::Type::text;
      reply.text.assign(text, size);
    });
  };
  make.createArray = [](const redisReadTask* task, auto size) {  // an int or a size_t, as hiredis' version has it
    return build(task, [&](Reply& reply) {
      reply.type = Reply::Type::array;
      if (static_cast<std::size_t>(size) > most_items) throw std::bad_alloc();
    });
  };
  make.createInteger = [](const redisReadTask* task, long long value) {
    return build(task, [&](Reply& reply) {
      reply.type = Reply::Type::integer;
      reply.integer = value;
    });
  };
  make.createNil = [](const redisReadTask* task) { return build(task, [](Reply&) {}); };
  make.freeObject = [](void* reply) { delete static_cast<Reply*>(reply); };
  return make;
}

redisReplyObjectFunctions builders = make_builders();

redisReader* as_reader(void* reader) { return static_cast<redisReader*>(reader); }

void append_number(std::string& bytes, char mark, std::size_t number) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  bytes += mark;
  bytes.append(text.data(), end).append("\r\n");
}

struct Meaning {
  std::string_view prefix;
  Errc code;
  std::string_view sentence;
};

// The first word of an error is what clients go by.
constexpr std::array meanings = {
    Meaning{"LOADING", Errc::store_unavailable, "the server is still loading its data"},
    Meaning{"READONLY", Errc::store_unavailable, replica_sentence},
    Meaning{"MASTERDOWN", Errc::store_unavailable, "the server is a replica without its master"},
    Meaning{"MISCONF", Errc::store_unavailable, "the server cannot save its data, and takes no writes"},
    Meaning{"NOREPLICAS", Errc::store_unavailable, "too few replicas are there"},
    Meaning{"BUSY", Errc::store_unavailable, "the server is busy with somebody's script"},
    Meaning{"OOM", Errc::overloaded, "the server is out of memory"},
    Meaning{"NOAUTH", Errc::permission_denied, "the server wants a password"},
    Meaning{"WRONGPASS", Errc::permission_denied, "user or password are wrong"},
    Meaning{"NOPERM", Errc::permission_denied, "the user may not do this"},
    Meaning{"ERR The user executing the script", Errc::permission_denied, "the user may not do this"},
    Meaning{"DENIED", Errc::permission_denied, "the server refuses connections from here"},
    Meaning{"ERR DB index", Errc::invalid_argument, "the server has no such database"},
    Meaning{"MOVED", Errc::unsupported, "the server is part of a cluster"},
    Meaning{"ASK", Errc::unsupported, "the server is part of a cluster"},
    Meaning{"CROSSSLOT", Errc::unsupported, "the server is part of a cluster, and the prefix has no hash tag"},
    Meaning{"CLUSTERDOWN", Errc::unsupported, "the server is part of a cluster, which is down"},
};

}  // namespace

std::int64_t Reply::number() const {
  if (type == Type::integer) return integer;
  std::int64_t value = 0;
  if (type == Type::text) std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Words::Words(std::initializer_list<std::string_view> words) {
  body_.reserve(512);
  for (const std::string_view word : words) push_back(word);
}

void Words::push_back(std::string_view word) {
  append_number(body_, '$', word.size());
  body_.append(word).append("\r\n");
  ++count_;
}

void Words::append(const Words& words) {
  body_ += words.body_;
  count_ += words.count_;
}

void Words::write_to(std::string& bytes) const {
  append_number(bytes, '*', count_);
  bytes += body_;
}

std::string encode(const Words& words) {
  std::string bytes;
  words.write_to(bytes);
  return bytes;
}

void ReplyReader::Free::operator()(void* reader) const noexcept { ::redisReaderFree(as_reader(reader)); }

ReplyReader::ReplyReader() : reader_(::redisReaderCreateWithFunctions(&builders)) {
  if (!reader_) throw std::bad_alloc();
}

void ReplyReader::feed(std::string_view bytes) {
  ::redisReaderFeed(as_reader(reader_.get()), bytes.data(), bytes.size());
}

Result<std::optional<Reply>> ReplyReader::next() {
  void* raw = nullptr;
  if (::redisReaderGetReply(as_reader(reader_.get()), &raw) != REDIS_OK) {
    return Error{Errc::store_unavailable, "the server does not speak Redis' protocol"};
  }
  if (raw == nullptr) return std::optional<Reply>();
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(raw));
  return std::optional<Reply>(std::move(*reply));
}

Error error_of(const std::string& whole) {
  // A server that does not know AUTH repeats what follows it.
  const std::string text = whole.substr(0, whole.find(", with args beginning with"));
  for (const Meaning& meaning : meanings) {
    if (!text.starts_with(meaning.prefix)) continue;
    return {meaning.code, std::string(meaning.sentence) + " (" + base::printable(text, 200) + ")"};
  }
  // It may have written before it broke off.
  const bool in_script = text.find("script:") != std::string::npos;
  if (in_script) return {Errc::outcome_unknown, "a script broke off: " + base::printable(text, 200)};
  const bool authentication = text.starts_with("ERR AUTH") || text.starts_with("ERR Client sent AUTH");
  if (authentication) return {Errc::permission_denied, "the server wants no password"};
  return {Errc::store_unavailable, "the server refuses: " + base::printable(text, 200)};
}

}  // namespace pawl::store::redis
