#pragma once

#include <filesystem>
#include <string>

namespace pawl::torture {

/// A file to which lines are added, each by one write(): a process that is killed leaves whole lines.
class LineFile {
 public:
  /// Throws std::system_error.
  explicit LineFile(const std::filesystem::path& file);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Threads: safe to share. Throws std::system_error.
  void add(const std::string& line) const;

 private:
  int fd_ = -1;
};

}  // namespace pawl::torture
