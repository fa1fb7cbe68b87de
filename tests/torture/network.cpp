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

Network::Network(std::size_t places, const std::vector<std::uint16_t>& servers) : ways_(places) {
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

Fault Network::fault(const std::string& name, Do begin, Do end) {
  return {name, name, [this, begin = std::move(begin), end = std::move(end)](Chance& chance) -> Fault::Heal {
            const std::vector<Proxy*> these = some(chance);
            for (Proxy* proxy : these) begin(*proxy);
            if (!end) return {};
            return [these, end] {
              for (Proxy* proxy : these) end(*proxy);
            };
          }};
}

std::vector<Fault> Network::faults() {
  using std::chrono::milliseconds;
  return {fault(
              "network silent", [](Proxy& proxy) { proxy.hold(); }, [](Proxy& proxy) { proxy.go_on(); }),
          fault(
              "network one-way", [](Proxy& proxy) { proxy.hold_replies(true); },
              [](Proxy& proxy) { proxy.hold_replies(false); }),
          fault(
              "network slow", [](Proxy& proxy) { proxy.delay_replies(milliseconds(150)); },
              [](Proxy& proxy) { proxy.delay_replies(milliseconds(0)); }),
          fault(
              "connections refused",
              [](Proxy& proxy) {
                proxy.shut(true);
                proxy.cut();
              },
              [](Proxy& proxy) { proxy.shut(false); }),
          fault(
              "connections cut", [](Proxy& proxy) { proxy.cut(); }, nullptr)};
}

}  // namespace pawl::torture
