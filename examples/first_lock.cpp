// The first lock: take it, work under it, let the resource check that we were not overtaken.
#include <pawl/pawl.hpp>

#include <cstdio>
#include <mutex>

using namespace std::chrono_literals;

namespace {

pawl::Fence fence(pawl::Kind::mutex, "billing/ledger");  // stands in front of what the lock guards

int entries = 0;

pawl::Result<void> write_entry(const pawl::Sequencer& sequencer) {
  return fence.admit(sequencer, [] { std::printf("entry %d\n", ++entries); });
}

}  // namespace

int main() {
  auto client = pawl::Client::open("memory:demo").value();
  pawl::Mutex ledger = client.mutex("billing/ledger");
  if (auto hold = ledger.acquire({.wait = 2s})) {
    std::stop_callback stop{hold->lost(), [] { std::puts("lost: stop now"); }};
    write_entry(hold->sequencer()).value();  // throws if somebody has overtaken us
  }                                          // let go here

  // What can go wrong is a value, with a name for programs and a sentence for people.
  auto first = ledger.acquire({.wait = 2s, .label = "nightly close"});
  auto second = ledger.try_acquire();
  if (!second) std::puts(second.error().to_string().c_str());  // busy: "billing/ledger" is held by ...
  const bool refused = second.code() == pawl::Errc::busy;
  const bool released = first && first->release().has_value();  // as the destructor does, and reports

  const std::scoped_lock outer{ledger};
  const std::scoped_lock inner{ledger};  // the same thread again: the store is asked once
  const pawl::Hold* mine = ledger.this_thread_hold();
  write_entry(mine->sequencer()).value();
  const bool stuck = ledger.acquire().code() == pawl::Errc::would_deadlock;  // a Hold beside our own lock()

  return entries == 2 && refused && released && stuck ? 0 : 1;
}
