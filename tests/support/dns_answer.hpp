#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What a DNS server says about SRV records.
namespace pawl::test {

inline std::string number(unsigned value) { return {static_cast<char>(value >> 8U), static_cast<char>(value)}; }

inline std::string name(const std::vector<std::string>& labels) {
  std::string bytes;
  for (const std::string& label : labels) bytes += static_cast<char>(label.size()) + label;
  return bytes + '\0';
}

inline std::string record(unsigned type, const std::string& data) {
  return number(0xc00c) + number(type) + number(1) + std::string(4, '\0') + number(static_cast<unsigned>(data.size())) +
         data;
}

inline std::string srv(unsigned priority, unsigned weight, unsigned port, const std::string& host) {
  return record(33, number(priority) + number(weight) + number(port) + host);
}

/// The answer to a question that stands behind the header of 12 bytes.
inline std::string answer(const std::string& question, const std::vector<std::string>& records, unsigned code = 0) {
  std::string bytes = question.substr(0, 2) + number(0x8180 | code) + number(1) +
                      number(static_cast<unsigned>(records.size())) + number(0) + number(0);
  const std::size_t end = question.find('\0', 12);  // of the name
  bytes += question.substr(12, end + 1 + 4 - 12);
  for (const std::string& one : records) bytes += one;
  return bytes;
}

}  // namespace pawl::test
