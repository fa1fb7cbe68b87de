// What an etcd server says on its watch stream: a watch hears nothing once it is removed, an id is asked for once in a
// stream's life, and what a watch hears can be judged, whatever it says.
// Input: steps. Each is one byte, and for what the server says a byte for its length and a WatchResponse.

#include "store/etcd/sight.hpp"
#include "store/etcd/watches.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <map>
#include <set>
#include <string>

namespace pawl::fuzz::etcd_watches {

using namespace store::etcd;

class Play {
 public:
  void step(std::uint8_t what, std::string_view& input) {
    switch (what % 6) {
      case 0: return add();
      case 1: return remove(what);
      case 2: return begin();
      case 3: return refuse();
      default: return take(input);
    }
  }
  void ask() {
    for (int i = 0; i < 1000; ++i) {
      const auto request = watches_.next();
      if (!request) return;
      if (!request->has_create_request()) continue;
      must(asked_.insert(request->create_request().watch_id()).second, "an id is asked for once in a stream's life");
    }
    must(false, "what is to be said comes to an end");
  }

 private:
  void add() {
    if (live_.size() >= 20) return;
    const auto alive = std::make_shared<bool>(true);
    const auto id = watches_.add("queue/mutex/job/" + std::to_string(live_.size()), "", [alive](const Heard& heard) {
      must(*alive, "a watch hears nothing once it is removed");
      const Waiter waiter{.created = 7};
      [[maybe_unused]] const Meaning meaning = meaning_for(waiter, heard);
      [[maybe_unused]] const bool frees = may_free_permits(heard);
    });
    must(live_.emplace(id, alive).second, "each watch has an id of its own");
  }
  void remove(std::uint8_t which) {
    if (live_.empty()) return;
    const auto it = std::next(live_.begin(), which % static_cast<std::ptrdiff_t>(live_.size()));
    *it->second = false;
    watches_.remove(it->first);
    must(!watches_.made_from(it->first), "a watch that was removed is not made");
    live_.erase(it);
    must(watches_.empty() == live_.empty(), "none is forgotten, and none kept");
  }
  void begin() {
    watches_.begin();
    asked_.clear();
    for (const auto& [id, alive] : live_) {
      const auto made = watches_.made_from(id);
      must(made && !made->has_value(), "nothing is made on a new stream");
    }
  }
  void refuse() {
    for (const auto id : watches_.refuse_doubted()) must(live_.contains(id), "only what there is is refused");
  }
  void take(std::string_view& input) {
    const std::size_t size = std::min<std::size_t>(take_byte(input), input.size());
    pb::WatchResponse response;
    const bool read = response.ParseFromArray(input.data(), static_cast<int>(size));
    input.remove_prefix(size);
    if (!read) return;
    for (const auto id : watches_.take(response).settled) must(live_.contains(id), "only what there is is settled");
  }

  Watches watches_;
  std::map<Watches::Id, std::shared_ptr<bool>> live_;
  std::set<std::int64_t> asked_;
};

void run(std::string_view input) {
  Play play;
  for (int steps = 0; !input.empty() && steps < 200; ++steps) {
    const std::uint8_t what = take_byte(input);
    play.step(what, input);
    play.ask();
  }
}

}  // namespace pawl::fuzz::etcd_watches

PAWL_FUZZ_TARGET(etcd_watches, pawl::fuzz::etcd_watches::run);
