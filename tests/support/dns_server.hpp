#pragma once

#include "tests/support/dns_answer.hpp"
#include "tests/support/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl::test {

/// A DNS server of example.com on the loopback address. It names one member of etcd, at localhost, to whoever asks for members with TLS, the first times; and the
/// same one to whoever asks for members without.
class DnsServer {
 public:
  const std::string with_tls = name({"_etcd-client-ssl", "_tcp", "example", "com"});
  const std::string without_tls = name({"_etcd-client", "_tcp", "example", "com"});

  DnsServer(std::uint16_t member, int times_with_tls)
      : member_(srv(1, 1, member, name({"localhost"}))),
        times_with_tls_(times_with_tls),
        socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
        address_(loopback(0)) {
    if (::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
      throw std::runtime_error("no socket for DNS");
    }
    address_.sin_port = htons(socket_.port());
    thread_ = std::thread([this] { run(); });
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;
  ~DnsServer() {
    bell_.ring();
    thread_.join();
  }
  const sockaddr_in& address() const { return address_; }
  std::vector<std::string> questions() const {
    const std::lock_guard lock(mutex_);
    return questions_;
  }

 private:
  void run() {
    for (;;) {
      std::array<pollfd, 2> polled{{{socket_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (polled[1].revents != 0) return;
      std::array<char, 2048> buffer{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t heard =
          ::recvfrom(socket_.fd(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (heard <= 0) return;
      const std::string question(buffer.data(), static_cast<std::size_t>(heard));
      const bool tls = question.find(with_tls) != std::string::npos;
      std::vector<std::string> records;
      if (!tls || times_with_tls_-- > 0) records.push_back(member_);
      {
        const std::lock_guard lock(mutex_);
        questions_.push_back(question);
      }
      const std::string said = answer(question, records);
      ::sendto(socket_.fd(), said.data(), said.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
    }
  }

  const std::string member_;
  int times_with_tls_;
  const Socket socket_;
  sockaddr_in address_;
  const Bell bell_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<std::string> questions_;
  std::thread thread_;
};

}  // namespace pawl::test
