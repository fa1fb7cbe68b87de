#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pawl::torture {

/// One line of a resource: a write, in the order in which they were made.
struct Entry {
  std::string value = {};   ///< every value is written once
  std::string before = {};  ///< what the writer had read before, right after its mark
  std::string token = {};
};

/// What a lock guards: a value, in a file with a line for each write. It does not check who writes: a fence does.
class Resource {
 public:
  static constexpr const char* nothing = "nothing";  ///< the value before the first write

  explicit Resource(std::filesystem::path file) : file_(std::move(file)) {}

  std::string read() const;
  /// Throws std::system_error.
  void write(const Entry& entry) const;
  /// All writes, the oldest first.
  std::vector<Entry> entries() const;

 private:
  std::filesystem::path file_;
};

}  // namespace pawl::torture
