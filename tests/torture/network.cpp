#include "tests/torture/network.hpp"

#include <chrono>
#include <utility>

namespace pawl::torture {

using test::Proxy;

namespace {

/// Bytes as they come: no message has an end.
test::Framing bytes_as_they_come() {
  const auto all = [](std::string_view bytes) { return bytes.size(); };
  test::Framing framing{.request = all, .reply = all, .name = [](std::string_view) { return std::string("bytes"); }};
  framing.pushed = [](std::string_view) { return true; };
  return framing;
}

}  // namespace

Network::Network(std::size_t places, const std::vector<std::uint16_t>& servers, Milliseconds lease)
    : ways_(places), lease_(lease) {
  for (Proxies& way : ways_) {
    for (const std::uint16_t server : servers) way.emplace_back(server, bytes_as_they_come());
  }
}

std::vector<std::uint16_t> Network::ports(std::size_t place) const {
  std::vector<std::uint16_t> all;
  for (const Proxy& proxy : ways_[place]) all.push_back(proxy.port());
  return all;
}

std::vector<Proxy*> Network::some(Chance& chance) {
  const bool everywhere = chance.one_in(4);
  const std::size_t chosen = chance.below(ways_.size());
  std::vector<Proxy*> all;
  for (std::size_t place = 0; place < ways_.size(); ++place) {
    for (Proxy& proxy : ways_[place]) {
      if (everywhere || place == chosen) all.push_back(&proxy);
    }
  }
  return all;
}

/// The first step begins it, the last one ends it; all of them for the same workers.
Fault Network::fault(const std::string& name, std::vector<Do> steps) {
  return {name, name, [this, steps = std::move(steps)](Chance& chance) {
            const std::vector<Proxy*> these = some(chance);
            Fault::Steps later;
            for (const Do& step : steps) {
              later.push_back({.act = [these, step] {
                for (Proxy* proxy : these) step(*proxy);
              }});
            }
            later.front().act();
            later.erase(later.begin());
            return later;
          }};
}

/// Replies come late, for less time than a client waits for one, and then no request arrives until a lease is over: who counts
/// its lease from a reply, and not from its request, believes too long.
Fault Network::dying() {
  const Do no_replies = [](Proxy& proxy) { proxy.hold_replies(true); };
  const Do late_replies_and_no_more_requests = [](Proxy& proxy) {
    proxy.hold_requests(true);
    proxy.hold_replies(false);
  };
  const Do on_again = [](Proxy& proxy) { proxy.hold_requests(false); };
  Fault fault =
      this->fault("late replies, then no requests", {no_replies, late_replies_and_no_more_requests, on_again});
  fault.begin = [this, begin = fault.begin](Chance& chance) {
    Fault::Steps steps = begin(chance);
    steps[0].after = chance.between(lease_ / 10, lease_ / 3);
    steps[1].after = chance.between(lease_ * 5 / 4, lease_ * 5 / 2);
    return steps;
  };
  return fault;
}

std::vector<Fault> Network::faults() {
  const Do silent = [](Proxy& proxy) { proxy.hold(); };
  const Do on_again = [](Proxy& proxy) { proxy.go_on(); };
  const Do no_replies = [](Proxy& proxy) { proxy.hold_replies(true); };
  const Do replies_again = [](Proxy& proxy) { proxy.hold_replies(false); };
  const Do no_requests = [](Proxy& proxy) { proxy.hold_requests(true); };
  const Do requests_again = [](Proxy& proxy) { proxy.hold_requests(false); };
  const Do slow = [](Proxy& proxy) { proxy.delay_replies(std::chrono::milliseconds(150)); };
  const Do fast = [](Proxy& proxy) { proxy.delay_replies({}); };
  const Do cut = [](Proxy& proxy) { proxy.cut(); };
  const Do refuse = [](Proxy& proxy) {
    proxy.shut(true);
    proxy.cut();
  };
  const Do welcome = [](Proxy& proxy) { proxy.shut(false); };
  return {fault("network silent", {silent, on_again}),
          fault("replies held", {no_replies, replies_again}),
          fault("requests held", {no_requests, requests_again}),
          dying(),
          dying(),  // twice as often: it needs the right holder
          fault("network slow", {slow, fast}),
          fault("connections refused", {refuse, welcome}),
          fault("connections cut", {cut})};
}

}  // namespace pawl::torture
