#include "apps/cli/torture/resource.hpp"

#include "apps/cli/torture/line_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pawl::torture {

std::string Resource::read() const {
  const int fd = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nothing;
  std::array<char, 512> window{};  // longer than a line
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(window.size()));
  const ssize_t got = ::pread(fd, window.data(), window.size(), begin);
  ::close(fd);
  std::string_view text(window.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (text.empty()) return nothing;
  text.remove_suffix(1);
  text = text.substr(text.rfind('\n') + 1);
  return std::string(text.substr(0, text.find(' ')));
}

void Resource::write(const Entry& entry) const {
  LineFile(file_).add(entry.value + " " + entry.before + " " + entry.token);
}

std::vector<Entry> Resource::entries() const {
  std::vector<Entry> all;
  std::ifstream in(file_);
  for (Entry entry; in >> entry.value >> entry.before >> entry.token;) all.push_back(entry);
  return all;
}

}  // namespace pawl::torture
