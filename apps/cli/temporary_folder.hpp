#pragma once

#include "apps/cli/context.hpp"

#include <fmt/format.h>

#include <stdlib.h>
#include <string.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace pawl::cli {

/// A folder of its own below TMPDIR, gone at the end. Throws Failure.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name) {
    std::error_code fault;
    std::string pattern = (std::filesystem::temp_directory_path(fault) / (name + ".XXXXXX")).string();
    if (fault || ::mkdtemp(pattern.data()) == nullptr) {
      throw Failure{own_failure, fmt::format("cannot make a temporary folder {}: {}", pattern,
                                             fault ? fault.message() : ::strerror(errno))};
    }
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pawl::cli
