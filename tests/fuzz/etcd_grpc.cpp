// What an etcd server sends on its HTTP/2 connection: whatever the bytes are, each call ends at most once, nothing comes after
// its end, no message is larger than allowed, and what is told does not depend on how the bytes were cut.
// Input: one byte that says how to cut, then the bytes of the server. Three calls are open: 1 and 3 are whole, 5 is not.

#include "store/etcd/grpc.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pawl::fuzz::etcd_grpc {

using store::etcd::Grpc;
using What = Grpc::Event::What;

constexpr std::size_t largest = 100'000;

/// What was told of one call.
struct Told {
  std::vector<std::string> messages = {};
  bool ended = false;
  int code = 0;
};

struct Heard {
  std::map<Grpc::CallId, Told> calls = {};
  bool lives = true;
  bool leaving = false;  // the server ends the connection
};

void take(Grpc& grpc, Heard& heard) {
  for (Grpc::Event& event : grpc.take_events()) {
    heard.leaving = heard.leaving || event.what == What::going_away;
    if (event.what != What::message && event.what != What::finished) continue;
    must(event.call == 1 || event.call == 3 || event.call == 5, "what is told is about a call of ours");
    Told& told = heard.calls[event.call];
    must(!told.ended, "nothing comes after the end of a call");
    if (event.what == What::message) {
      must(event.bytes.size() <= largest, "no message is larger than allowed");
      told.messages.push_back(std::move(event.bytes));
    } else {
      told.ended = true;
      told.code = static_cast<int>(event.status.code);
    }
  }
}

Heard hear_in_parts(std::string_view bytes, std::size_t size) {
  Grpc grpc({.authority = "db1:2379", .largest_message = largest});
  for (const Grpc::Last last : {Grpc::Last::yes, Grpc::Last::yes, Grpc::Last::no}) {
    const auto call = grpc.open("/etcdserverpb.KV/Txn", {.token = "t0ken"});
    must(call.has_value(), "a fresh connection takes calls");
    grpc.send(*call, "question", last);
  }
  std::string out;
  grpc.write_to(out);
  Heard heard;
  while (!bytes.empty() && heard.lives) {
    const std::string_view part = bytes.substr(0, size);
    heard.lives = grpc.feed(part);
    take(grpc, heard);
    bytes.remove_prefix(part.size());
    out.clear();
    grpc.write_to(out);
  }
  if (!heard.lives)
    must(!grpc.ready() && !grpc.why().empty(), "a connection that is broken says why, and takes no calls");
  for (const auto& [id, told] : heard.calls) {
    if (told.ended) must(!grpc.whole_at(id), "a call that has ended is forgotten");
  }
  return heard;
}

void run(std::string_view input) {
  const std::size_t size = take_byte(input) + std::size_t{1};
  const Heard whole = hear_in_parts(input, input.size());
  const Heard parts = hear_in_parts(input, size);
  // Where a connection breaks, it may have been told more or less before.
  if (!whole.lives || !parts.lives) return;
  must(whole.calls.size() == parts.calls.size(), "the same calls are told of however the bytes are cut");
  for (const auto& [id, told] : whole.calls) {
    const auto other = parts.calls.find(id);
    must(other != parts.calls.end(), "the same calls are told of however the bytes are cut");
    must(told.messages == other->second.messages, "messages are the same however the bytes are cut");
    must(told.ended == other->second.ended, "calls end however the bytes are cut");
    // A call that broke the rules is reset by us, or was not begun: with GOAWAY close behind, whichever comes first.
    must(told.code == other->second.code || whole.leaving, "calls end alike however the bytes are cut");
  }
}

}  // namespace pawl::fuzz::etcd_grpc

PAWL_FUZZ_TARGET(etcd_grpc, pawl::fuzz::etcd_grpc::run);
