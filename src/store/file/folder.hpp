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
/// Errors: invalid_argument, permission_denied (also for another user's, unless `mode` shares it on purpose), unsupported
///         (network), store_unavailable (disk full).
class Folder {
 public:
  static Result<Folder> open(const FolderOptions& options);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  /// A path to one of its files that stays right when the folder is renamed, and is short enough for a socket.
  std::string reach(std::string_view name) const;
  /// For messages.
  std::string shown(std::string_view name) const { return path_ + "/" + std::string(name); }

  /// May other users write into it? What they leave there (links) must not lead us out of it.
  bool shared() const { return shared_; }
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }

  struct File {
    Fd fd;
    bool created = false;
    ino_t inode = 0;
    off_t size = 0;
  };
  /// A regular file for reading and writing, made if it is not there: with the folder's group and permissions, whatever
  /// the umask, and its owner if this is root. Follows no link.
  /// Errors: the system's; invalid_argument for what is no file of this folder alone.
  Result<File> open_file(const char* name) const;
  /// A socket of the folder, to reach it by `/proc/self/fd/NUMBER`. Empty: there is none; errno says why.
  Fd find_socket(const char* name) const;
  /// Gives a socket that we have just made the same group, permissions and owner as a file.
  void share_socket(const char* name) const;
  Result<void> sync() const;
  void remove(const char* name) const;
  /// Nothing: there is none of that name.
  std::optional<struct stat> look(const char* name) const;
  /// When the file system last stamped a change of the folder (name "."), or of one of its files: cp, tar and mv cannot
  /// set this time. In milliseconds since 1970; 0: there is none of that name.
  std::uint64_t changed(const char* name) const;
  /// Does the path still lead to this folder? True also when that cannot be found out.
  bool still_there() const;

 private:
  Folder(std::string path, Fd fd, const struct stat& status);
  Result<File> checked(Fd fd, const char* name, bool created) const;
  Error cannot_open(const char* name, int number) const;

  std::string path_;
  Fd fd_;
  dev_t device_;
  ino_t inode_;
  uid_t owner_;
  gid_t group_;
  mode_t file_mode_;
  bool shared_;
};

/// Makes room for the whole file now: a file that is mapped and has holes is a SIGBUS on a full disk.
Result<void> allocate(const Fd& fd, std::size_t size, const std::string& shown);

}  // namespace pawl::store::file
