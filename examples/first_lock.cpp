// The first lock: take it, work under it, let the resource check that we were not overtaken.
#include <pawl/pawl.hpp>

#include <cstdio>
#include <mutex>

using namespace std::chrono_literals;

int main() {
  // [readme]
  auto client = pawl::Client::open("memory:demo").value();
  pawl::Mutex ledger = client.mutex("billing/ledger");
  pawl::Fence fence(pawl::Kind::mutex, "billing/ledger");  // stands in front of what the lock guards

  if (auto hold = ledger.acquire({.wait = 2s})) {
    std::stop_callback stop{hold->lost(), [] { std::puts("lost: stop working"); }};
    auto written = fence.admit(hold->sequencer(), [] { std::puts("one entry written"); });
    if (!written) std::puts(written.error().to_string().c_str());
  } else {
    std::puts(hold.error().to_string().c_str());
  }
  // [readme]

  {
    const std::scoped_lock guard{ledger};  // Lockable, so everything in <mutex> works
    std::printf("token %s\n", ledger.this_thread_hold()->token().to_string().c_str());
  }
  return 0;
}
