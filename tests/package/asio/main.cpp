// A program of somebody else, which has Asio for itself as well, compiled in its own way: as headers only.
#include <pawl/asio.hpp>
#include <pawl/pawl.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> take_a_lock(pawl::Mutex mutex) {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, 1ms);
  co_await timer.async_wait(asio::use_awaitable);
  pawl::AcquireOptions options;
  options.wait = 10s;
  pawl::Result<pawl::Hold> hold = co_await pawl::async_acquire(mutex, options, asio::use_awaitable);
  std::printf("token %s\n", hold.value().token().to_string().c_str());
}

}  // namespace

int main() {
  auto client = pawl::Client::open("memory:").value();
  asio::io_context context;
  asio::co_spawn(context, take_a_lock(client.mutex("package/asio")), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  return 0;
}
