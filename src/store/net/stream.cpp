#include "store/net/stream.hpp"

#include "base/lock_name.hpp"
#include "store/net/inside.hpp"
#include "store/net/resolve.hpp"
#include "store/net/tls.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

namespace pawl::store::net {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

// In seconds: a peer that has gone is noticed within 25 s.
constexpr int keepalive_idle = 10;
constexpr int keepalive_interval = 5;
constexpr int keepalive_probes = 3;

}  // namespace

class Stream::Impl {
 public:
  explicit Impl(base::Runtime& on) : runtime(on), socket(on.executor()) {}

  void close() {
    if (line) line->close();
    error_code ignored;
    socket.close(ignored);
  }

  /// By hand: a child that is started meanwhile must not inherit it, and Asio's own would be.
  error_code open(const Endpoint& endpoint) {
    close();
    const auto protocol = endpoint.protocol();
    const int fd = ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol.protocol());
    if (fd < 0) return {errno, boost::system::system_category()};
    error_code error;
    socket.assign(protocol, fd, error);
    if (error) ::close(fd);
    return error;
  }

  /// Small messages go out at once, and a peer that has gone in silence (a host that is off, a firewall that forgets) is
  /// noticed although nothing is asked.
  void tune() {
    const auto set = [fd = socket.native_handle()](int level, int name, int value) {
      ::setsockopt(fd, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle);
    set(IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval);
    set(IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  }

  /// Both sides have agreed on it in the TLS handshake.
  bool speaks(const std::string& protocol) {
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    ::SSL_get0_alpn_selected(tls->native_handle(), &chosen, &size);
    return protocol.empty() || protocol == std::string_view(reinterpret_cast<const char*>(chosen), size);
  }

  Error failed(const std::string& what, const error_code& why) const {
    const bool distrusted = why.category() == asio::error::get_ssl_category() && !timed_out;
    std::string text = address.to_string() + ": " + what + ": " + why.message();
    if (timed_out) text = address.to_string() + ": " + what + ": it took too long";
    return {distrusted ? Errc::permission_denied : Errc::store_unavailable, std::move(text)};
  }

  base::Runtime& runtime;
  Address address;
  Socket socket;
  std::optional<ssl::stream<Socket&>> tls;
  std::shared_ptr<InsideLine> line;
  bool timed_out = false;
};

namespace {

/// Closes the stream when its time is over.
class CloseAt final : private base::Timers::Node {
 public:
  template <class Impl>
  CloseAt(Impl& impl, base::Time at)
      : runtime_(impl.runtime), close_([&impl] {
          impl.timed_out = true;
          impl.close();
        }) {
    if (at != base::Time::max()) key_ = runtime_.arm(at, *this);
  }
  CloseAt(const CloseAt&) = delete;
  CloseAt& operator=(const CloseAt&) = delete;
  ~CloseAt() {
    if (key_) runtime_.disarm(*key_);
  }

 private:
  void fire() override {
    key_.reset();
    close_();
  }

  base::Runtime& runtime_;
  const std::function<void()> close_;
  std::optional<base::Timers::Key> key_;
};

}  // namespace

Stream::Stream(base::Runtime& runtime) : impl_(std::make_shared<Impl>(runtime)) {}
Stream::~Stream() {
  if (!impl_->runtime.inert()) impl_->close();
}

void Stream::close() { impl_->close(); }

awaitable<Result<void>> Stream::connect(Address address, Deadline deadline) {
  impl_->close();
  impl_ = std::make_shared<Impl>(impl_->runtime);  // what is still under way ends on the old one
  const auto impl = impl_;
  impl->address = address;
  if (address.inside) {
    Result<std::shared_ptr<InsideLine>> line = co_await address.inside->connect(impl->runtime, deadline);
    if (!line) co_return line.error();
    impl->line = std::move(*line);
    co_return Result<void>();
  }
  Result<std::vector<Endpoint>> endpoints = co_await resolve(impl->runtime, address, deadline);
  if (!endpoints) co_return endpoints.error();
  error_code error = asio::error::host_not_found;
  auto left = static_cast<std::int64_t>(endpoints->size());
  for (const Endpoint& endpoint : *endpoints) {
    const base::Time now = impl->runtime.now();
    const CloseAt turn(*impl,
                       base::after(now, (deadline.at - now) / left--));  // one that hangs leaves time for the others
    impl->timed_out = false;
    error = impl->open(endpoint);
    if (!error) std::tie(error) = co_await impl->socket.async_connect(endpoint, as_result);
    if (!error || deadline.passed(impl->runtime.now())) break;
  }
  if (error) co_return impl->failed("no connection", error);
  const CloseAt guard(*impl, deadline.at);
  if (address.path.empty()) impl->tune();
  impl->socket.non_blocking(true, error);
  if (!address.tls) co_return Result<void>();

  impl->tls.emplace(impl->socket, address.tls->native());
  const std::string name = address.tls_name.empty() ? address.host : address.tls_name;
  ::SSL_set_tlsext_host_name(impl->tls->native_handle(), name.c_str());
  impl->tls->set_verify_callback(ssl::host_name_verification(name), error);
  auto [refused] = co_await impl->tls->async_handshake(ssl::stream_base::client, as_result);
  if (refused) co_return impl->failed("no TLS connection", refused);
  if (!impl->speaks(address.tls->protocol())) {
    impl->close();
    co_return Error{Errc::unsupported, address.to_string() + ": the server does not speak " + address.tls->protocol() +
                                           " over TLS (ALPN)"};
  }
  co_return Result<void>();
}

awaitable<Result<std::size_t>> Stream::read(std::span<char> into) {
  const auto impl = impl_;
  if (impl->line) {
    Result<std::size_t> read = co_await impl->line->read(into);
    co_return read;
  }
  const auto buffer = asio::buffer(into.data(), into.size());
  error_code error;
  std::size_t size = 0;
  if (impl->tls) {
    std::tie(error, size) = co_await impl->tls->async_read_some(buffer, as_result);
  } else {
    std::tie(error, size) = co_await impl->socket.async_read_some(buffer, as_result);
  }
  if (error) co_return impl->failed("the connection is gone", error);
  co_return size;
}

awaitable<Result<void>> Stream::write(std::string_view bytes) {
  const auto impl = impl_;
  if (impl->line && impl->line->write_now(bytes) == 0) {
    co_return Error{Errc::store_unavailable, impl->address.to_string() + ": the connection is gone"};
  }
  if (impl->line) co_return Result<void>();
  const auto buffer = asio::buffer(bytes.data(), bytes.size());
  error_code error;
  std::size_t size = 0;
  if (impl->tls) {
    std::tie(error, size) = co_await asio::async_write(*impl->tls, buffer, as_result);
  } else {
    std::tie(error, size) = co_await asio::async_write(impl->socket, buffer, as_result);
  }
  if (error) co_return impl->failed("the connection is gone", error);
  co_return Result<void>();
}

std::size_t Stream::write_now(std::string_view bytes) {
  if (impl_->line) return impl_->line->write_now(bytes);
  if (impl_->tls || !impl_->socket.is_open()) return 0;
  error_code error;
  const std::size_t size = impl_->socket.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  return error ? 0 : size;
}

}  // namespace pawl::store::net
