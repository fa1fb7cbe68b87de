#pragma once

#include <pawl/result.hpp>

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::store::file {

/// An open file that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd();

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Who closes it is the caller's concern from now on.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// One sentence for a system call that failed: what was to be done, with which file, and why it could not be.
Error system_failure(std::string_view doing, std::string_view path, int number);

struct FolderOptions {
  std::string path = {};
  std::optional<mode_t> mode = {};  ///< unset: 0700 for a new folder, and an old one as it is
  bool network = false;             ///< a network file system is meant, and used from one host only
};

/// Is that a file system that other hosts may share? `type` is statfs::f_type.
bool is_network_file_system(std::uint64_t type);

/// The folder of a store: made if it is not there, and reached by its descriptor from then on, so that a rename of it
/// cannot lead us elsewhere.
/// Errors: invalid_argument, permission_denied, unsupported (network), store_unavailable (disk full).
class Folder {
 public:
  static Result<Folder> open(const FolderOptions& options);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  /// A path to one of its files that stays right when the folder is renamed, and is short enough for a socket.
  std::string reach(std::string_view name) const;
  /// For messages.
  std::string shown(std::string_view name) const { return path_ + "/" + std::string(name); }

  struct File {
    Fd fd;
    bool created = false;
  };
  /// For reading and writing, made if it is not there: with the folder's group and permissions, whatever the umask.
  Result<File> open_file(const char* name) const;
  /// Gives a file that was made by other means (a socket) the folder's group and permissions.
  void share(const char* name) const;
  Result<void> sync() const;
  void remove(const char* name) const;
  /// Nothing: there is none of that name.
  std::optional<struct stat> look(const char* name) const;
  /// Does the path still lead to this folder?
  bool still_there() const;

 private:
  Folder(std::string path, Fd fd, const struct stat& status);

  std::string path_;
  Fd fd_;
  dev_t device_;
  ino_t inode_;
  gid_t group_;
  mode_t file_mode_;
};

/// Makes room for the whole file now: a file that is mapped and has holes is a SIGBUS on a full disk.
Result<void> allocate(const Fd& fd, std::size_t size, const std::string& shown);

}  // namespace pawl::store::file
