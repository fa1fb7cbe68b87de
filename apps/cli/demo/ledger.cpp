#include "apps/cli/demo/ledger.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pawl::cli {

namespace {

struct Entry {
  std::string token = {};
  std::string worker = {};
  std::int64_t amount = 0;
  std::int64_t total = 0;
};

bool read_entry(std::istream& in, Entry& entry) {
  return static_cast<bool>(in >> entry.token >> entry.worker >> entry.amount >> entry.total);
}

/// The last line's total; 0 in an empty file. Lines are shorter than the window.
std::int64_t last_total(int fd) {
  std::array<char, 256> window{};
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(window.size()));
  const ssize_t got = ::pread(fd, window.data(), window.size(), begin);
  std::string_view text(window.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::istringstream line{std::string(text.substr(text.rfind('\n') + 1))};
  Entry entry;
  return read_entry(line, entry) ? entry.total : 0;
}

}  // namespace

Result<void> Ledger::add(const Token& token, const std::string& worker, std::int64_t amount) const {
  const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return Error{Errc::store_unavailable, fmt::format("{}: {}", file_.string(), ::strerror(errno))};
  const std::string line = fmt::format("{} {} {} {}\n", token.to_string(), worker, amount, last_total(fd) + amount);
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int reason = errno;
  ::close(fd);
  if (written) return {};
  return Error{Errc::store_unavailable, fmt::format("{}: {}", file_.string(), ::strerror(reason))};
}

Ledger::Audit Ledger::audit() const {
  Audit audit;
  std::ifstream in(file_);
  Entry entry;
  std::string last_token;
  while (read_entry(in, entry)) {
    audit.adds_up = audit.adds_up && entry.total == audit.total + entry.amount;
    audit.in_order = audit.in_order && entry.token > last_token;
    audit.total = entry.total;
    last_token = entry.token;
    ++audit.entries;
  }
  audit.adds_up = audit.adds_up && in.eof();
  return audit;
}

}  // namespace pawl::cli
