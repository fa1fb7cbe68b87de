// A TCP server of coroutines that sells tickets. Every request holds a lock across its own waits, and no thread waits
// with it: all of it runs on one.
#include <pawl/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstdio>
#include <string>

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

constexpr int customers = 10, tickets = 7;

struct Office {
  pawl::Mutex mutex;
  int left = tickets;
  int sold = 0;
  int refused = 0;
};

/// Reads, waits, writes: two of them at once would sell one ticket twice.
asio::awaitable<bool> sell(Office& office) {
  const int left = office.left;
  co_await asio::post(co_await asio::this_coro::executor, use_awaitable);  // a database would be asked here
  if (left == 0) co_return false;
  office.left = left - 1;
  co_return true;
}

asio::awaitable<void> serve(tcp::socket socket, Office& office) {
  // The options are trivially destructible: GCC 12 destroys other braced arguments of a co_await twice.
  auto hold = co_await pawl::async_acquire(office.mutex, {.wait = 2s, .label = "request"}, use_awaitable);
  std::string answer = "try later\n";
  if (hold) {
    const bool sold = co_await sell(office);
    answer = sold ? "a ticket\n" : "sold out\n";
    co_await pawl::async_release(*hold, use_awaitable);
  }
  co_await asio::async_write(socket, asio::buffer(answer), use_awaitable);
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, Office& office) {
  for (int i = 0; i < customers; ++i) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), office), asio::detached);
  }
}

asio::awaitable<void> buy(tcp::endpoint server, Office& office) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, use_awaitable);
  std::string answer;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), '\n', use_awaitable);
  std::fputs(answer.c_str(), stdout);
  office.sold += answer == "a ticket\n";
  office.refused += answer == "sold out\n";
}

}  // namespace

int main() {
  auto client = pawl::Client::open("memory:").value();
  Office office{client.mutex("tickets")};

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(context, listen(acceptor, office), asio::detached);
  for (int i = 0; i < customers; ++i) asio::co_spawn(context, buy(acceptor.local_endpoint(), office), asio::detached);
  context.run();
  return office.sold == tickets && office.refused == customers - tickets ? 0 : 1;
}
