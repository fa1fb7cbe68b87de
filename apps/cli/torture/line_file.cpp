#include "apps/cli/torture/line_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pawl::torture {

LineFile::LineFile(const std::filesystem::path& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), file.string());
}

LineFile::~LineFile() { ::close(fd_); }

void LineFile::add(const std::string& line) const {
  const std::string whole = line + "\n";
  if (::write(fd_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
    throw std::system_error(errno, std::generic_category(), "write");
}

}  // namespace pawl::torture
