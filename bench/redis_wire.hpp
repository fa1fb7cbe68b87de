#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

/// What the floors on Redis say, and to whom.
namespace pawl::bench {

/// Of "127.0.0.1:6379".
inline sockaddr_in address_of(const std::string& host) {
  const std::size_t colon = host.find(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(host.substr(colon + 1))));
  if (::inet_pton(AF_INET, host.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    throw std::runtime_error("not an address: " + host);
  }
  return address;
}

/// 32 hex digits, as pawl's ids have.
inline std::string make_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(random()),
                static_cast<unsigned long long>(random()));
  return {text.data(), 32};
}

/// A command as it goes over the wire.
inline std::string encode(std::initializer_list<std::string_view> words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    bytes += '$' + std::to_string(word.size()) + "\r\n";
    bytes += word;
    bytes += "\r\n";
  }
  return bytes;
}

}  // namespace pawl::bench
