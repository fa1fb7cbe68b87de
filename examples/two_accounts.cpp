// Two transfers in opposite directions. Each needs both accounts; neither waits for the other for ever.
#include <pawl/pawl.hpp>

#include <cstdio>
#include <functional>
#include <thread>

using namespace std::chrono_literals;

namespace {

struct Account {
  pawl::Mutex mutex;
  int balance = 100;
};

bool transfer(Account& from, Account& to, int amount) {
  pawl::MultiLock both{from.mutex, to.mutex};
  auto hold = both.acquire({.wait = 30s});  // for both of them together
  if (!hold) {
    std::fprintf(stderr, "%s\n", hold.error().to_string().c_str());
    return false;
  }
  from.balance -= amount;
  to.balance += amount;
  return hold->valid() && hold->sequencers().size() == 2;  // one for each account's fence
}

}  // namespace

int main() {
  auto client = pawl::Client::open("memory:").value();
  Account alice{client.mutex("account/alice")}, bob{client.mutex("account/bob")};
  int there = 0, back = 0;
  {
    std::jthread one([&] {
      while (there < 100 && transfer(alice, bob, 2)) ++there;
    });
    std::jthread other([&] {
      while (back < 100 && transfer(bob, alice, 1)) ++back;
    });
  }
  std::printf("alice %d, bob %d\n", alice.balance, bob.balance);
  return there == 100 && back == 100 && alice.balance == 0 && bob.balance == 200 ? 0 : 1;
}
