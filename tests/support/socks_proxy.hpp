#pragma once

#include "tests/support/socket.hpp"

#include <poll.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace pawl::test {

/// A SOCKS 5 server on the loopback address, for a real program whose connections a test wants to cut. The cut is
/// silent: bytes do not arrive, and neither side is told.
/// Limit:   numeric IPv4 addresses, all of them taken for the loopback one.
/// Threads: safe to share. It runs in a thread of its own, which ends with this object.
class SocksProxy {
 public:
  SocksProxy();
  SocksProxy(const SocksProxy&) = delete;
  SocksProxy& operator=(const SocksProxy&) = delete;
  ~SocksProxy();

  std::uint16_t port() const { return listener_.port(); }

  /// Nothing reaches these ports from now on, nor does anything come back, nor a connection come about. All that waits
  /// meanwhile goes on when its port is no longer among them.
  void silence(std::set<std::uint16_t> ports);

 private:
  struct Link;

  void run();
  void fill(std::vector<pollfd>& polled) const;
  void accept_all();
  void serve(Link& link);
  bool is_silent(const Link& link) const;

  const Socket listener_ = listen_on_tcp(128);
  const Bell bell_;

  std::mutex mutex_;  // guards all below
  std::list<Link> links_;
  std::set<std::uint16_t> silent_;
  bool over_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace pawl::test
