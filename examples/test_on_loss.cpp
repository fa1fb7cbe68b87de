// A small service, and the test of what it does when its lock is lost, is late, or is asked for. Time stands still
// until the test moves it, so the test takes no time and never fails by chance.
#include <pawl/testing.hpp>

#include <atomic>
#include <cstdio>
#include <optional>
#include <tuple>

using namespace std::chrono_literals;

namespace {

/// Exports records while it holds the lock "export". Somebody calls tick() now and then.
class Exporter {
 public:
  explicit Exporter(pawl::Client client) : mutex_(client.mutex("export")) {}

  void tick() {
    if (stop_) {  // lost, or asked for: put things in order, and let go
      on_loss_.reset();
      on_request_.reset();
      std::ignore = hold_.release();  // waits for the store's word; `lost` is no news here
      stop_ = false;
    } else if (hold_.valid()) {
      ++exported_;
    } else if (auto hold = mutex_.try_acquire({.lease = 30s})) {
      hold_ = std::move(*hold);
      on_loss_.emplace(hold_.lost(), Stop{stop_});
      on_request_.emplace(hold_.release_requested(), Stop{stop_});
    }
  }
  bool at_work() const { return hold_.valid() && !stop_; }
  int exported() const { return exported_; }

 private:
  struct Stop {
    std::atomic<bool>& stop;
    void operator()() const noexcept { stop = true; }  // on pawl's thread: only says so
  };
  pawl::Mutex mutex_;
  pawl::Hold hold_;
  std::atomic<bool> stop_ = false;
  int exported_ = 0;
  std::optional<std::stop_callback<Stop>> on_loss_, on_request_;
};

bool all_fine = true;

void expect(bool what, const char* claim) {
  std::printf("%s: %s\n", what ? "ok" : "WRONG", claim);
  all_fine = all_fine && what;
}

}  // namespace

int main() {
  pawl::TestStore store;
  pawl::Client client = store.client();
  Exporter exporter(client), standby(store.client());
  const auto tick = [&] { exporter.tick(), standby.tick(); };

  tick();
  expect(exporter.at_work() && !standby.at_work(), "one of two is at work");
  store.advance(1h);
  expect(exporter.at_work(), "a lease is renewed for as long as it takes");

  store.lose("export");
  expect(!exporter.at_work(), "it stops as soon as the lock is taken away");
  tick();
  expect(standby.at_work(), "and the other one goes on");

  store.ask_to_release("export");
  tick(), tick();
  expect(exporter.at_work() && !standby.at_work(), "it lets go when it is asked to");

  store.expire(client);
  store.advance(10s);
  expect(!exporter.at_work(), "it stops when its session has ended, at the next renewal");

  store.delay_grants("export", 5s);
  tick(), tick();
  expect(!exporter.at_work() && !standby.at_work(), "while nobody is granted the lock, nobody works");
  store.advance(5s);
  tick();
  const int before = standby.exported() + exporter.exported();
  tick();
  expect(standby.exported() + exporter.exported() == before + 1, "then one of them does");
  return all_fine ? 0 : 1;
}
