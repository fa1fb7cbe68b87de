#include "base/offload.hpp"

#include "base/wakeup.hpp"

#include <chrono>
#include <system_error>

namespace pawl::base {

awaitable<void> offload_when_possible(Runtime& runtime, std::string lane, std::function<void()> work) {
  for (;;) {
    try {
      co_await runtime.offload(lane, work);
      co_return;
    } catch (const std::system_error&) {
      // no thread is left
    }
    co_await sleep_for(runtime, std::chrono::milliseconds(100));
  }
}

}  // namespace pawl::base
