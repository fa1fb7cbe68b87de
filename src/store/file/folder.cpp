#include "store/file/folder.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace pawl::store::file {

namespace {

std::string in_quotes(std::string_view path) { return '"' + base::printable(path, 200) + '"'; }

Errc code_of(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS: return Errc::permission_denied;
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR: return Errc::invalid_argument;
    case EMFILE:
    case ENFILE: return Errc::overloaded;
    default: return Errc::store_unavailable;
  }
}

std::string user_name(uid_t user) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(user);
}

/// The folder and what is missing above it. Those above are for everybody to pass, as `mkdir -p` makes them.
Result<void> make_folders(const std::string& path) {
  std::optional<Error> refused;  // only an error if it is not there: what is there may be passed all the same
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string above = path.substr(0, slash);
    if (::mkdir(above.c_str(), 0755) == 0 || errno == EEXIST) continue;
    const int number = errno;
    if (refused && number == ENOENT) return *refused;
    if (!refused) refused = system_failure("make the folder", above, number);
    if (number != EACCES && number != EROFS) return *refused;
  }
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (refused && errno == ENOENT) return *refused;
  return system_failure("make the folder", path, errno);
}

Error refused(const std::string& path, const struct stat& status) {
  return {Errc::permission_denied,
          fmt::format("the folder {} belongs to user {} and has mode {:04o}: to share it, its owner gives it a common "
                      "group and ?mode=0770",
                      in_quotes(path), user_name(status.st_uid), status.st_mode & 07777)};
}

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return fd;
  const int number = errno;
  struct stat status {};
  const bool seen = ::stat(path.c_str(), &status) == 0;
  if (seen && !S_ISDIR(status.st_mode)) {
    return Error{Errc::invalid_argument,
                 in_quotes(path) + " is not a folder: a file store needs a folder, or a path where it can make one"};
  }
  if (seen && number == EACCES) return refused(path, status);
  return system_failure("open the folder", path, number);
}

Result<void> check_file_system(const Fd& fd, const FolderOptions& options) {
  struct statfs file_system {};
  if (::fstatfs(fd.get(), &file_system) != 0) return system_failure("look at the folder", options.path, errno);
  if (options.network || !is_network_file_system(static_cast<std::uint64_t>(file_system.f_type))) return {};
  return Error{Errc::unsupported, in_quotes(options.path) +
                                      " is on a network file system, where the processes of one host cannot exclude "
                                      "those of another: use a local folder, or a store with a server; with "
                                      "?network=yes it is used all the same, from one host only"};
}

/// An empty folder of ours takes the mode that was asked for; any other must have it.
Result<void> apply_mode(const Fd& fd, const FolderOptions& options, struct stat& status) {
  const mode_t has = status.st_mode & 0777;
  if (options.mode && has != *options.mode) {
    const bool used = ::faccessat(fd.get(), "gate", F_OK, AT_EACCESS) == 0;
    if (used || status.st_uid != ::geteuid()) {
      return Error{
          Errc::invalid_argument,
          fmt::format("the folder {} has mode {:04o}, not {:04o}: change it with chmod while nobody uses it, or "
                      "leave ?mode= out",
                      in_quotes(options.path), has, *options.mode)};
    }
    if (::fchmod(fd.get(), *options.mode) != 0) return system_failure("set the mode of", options.path, errno);
    if (::fstat(fd.get(), &status) != 0) return system_failure("look at the folder", options.path, errno);
  }
  if ((status.st_mode & 0002) == 0) return {};
  return Error{Errc::invalid_argument, in_quotes(options.path) +
                                           " can be written to by everybody, who could then take any "
                                           "lock away: use a folder with mode 0700 or 0770"};
}

/// Who may write into a folder can disturb every process that uses it, and end it by truncating a file that is mapped
/// (SIGBUS). Nobody, and least of all root, shall share that by mistake.
Result<void> check_owner(const FolderOptions& options, const struct stat& status) {
  if (status.st_uid == ::geteuid() || status.st_uid == 0 || options.mode == mode_t{0770}) return {};
  return Error{
      Errc::permission_denied,
      fmt::format("the folder {} belongs to user {}, who could end any process that uses it: use a folder of "
                  "your own; to share this one on purpose, it must have mode 0770 and be named with ?mode=0770",
                  in_quotes(options.path), user_name(status.st_uid))};
}

constexpr mode_t group_writes = 0020;

}  // namespace

Fd::~Fd() {
  if (number_ >= 0) ::close(number_);
}

Error system_failure(std::string_view doing, std::string_view path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return {code_of(number), fmt::format("the file store cannot {} {}: {}", doing, in_quotes(path),
                                       full ? "the disk is full" : std::generic_category().message(number))};
}

bool is_network_file_system(std::uint64_t type) {
  // <linux/magic.h> does not name: cifs, smb3, ceph, lustre, gfs2, beegfs, gpfs, and FUSE, which may be sshfs or worse.
  constexpr std::array<std::uint64_t, 15> shared = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, AFS_SUPER_MAGIC,   AFS_FS_MAGIC,
                                                    CODA_SUPER_MAGIC, V9FS_MAGIC,      OCFS2_SUPER_MAGIC, 0xFF534D42,
                                                    0xFE534D42,       0x00C36400,      0x0BD00BD0,        0x01161970,
                                                    0x19830326,       0x47504653,      0x65735546};
  return std::find(shared.begin(), shared.end(), type) != shared.end();
}

Folder::Folder(std::string path, Fd fd, const struct stat& status)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      device_(status.st_dev),
      inode_(status.st_ino),
      owner_(status.st_uid),
      group_(status.st_gid),
      file_mode_((status.st_mode & 0070) == 0070 ? 0660 : 0600),
      shared_((status.st_mode & group_writes) != 0 || status.st_uid != ::geteuid()) {}

Result<Folder> Folder::open(const FolderOptions& options) {
  struct stat status {};
  if (::stat(options.path.c_str(), &status) != 0 && errno == ENOENT) {
    if (auto made = make_folders(options.path); !made) return made.error();
  }
  Result<Fd> fd = open_folder(options.path);
  if (!fd) return fd.error();
  if (::fstat(fd->get(), &status) != 0) return system_failure("look at the folder", options.path, errno);
  if (auto local = check_file_system(*fd, options); !local) return local.error();
  if (auto ours = check_owner(options, status); !ours) return ours.error();
  if (auto fits = apply_mode(*fd, options, status); !fits) return fits.error();
  if (::faccessat(fd->get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES) {
    return refused(options.path, status);
  }
  return Folder(options.path, std::move(*fd), status);
}

std::string Folder::reach(std::string_view name) const { return fmt::format("/proc/self/fd/{}/{}", fd(), name); }

Result<Folder::File> Folder::open_file(const char* name) const {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  for (;;) {
    Fd fd(::openat(this->fd(), name, flags));
    if (fd) return checked(std::move(fd), name, false);
    if (errno != ENOENT) return cannot_open(name, errno);
    Fd made(::openat(this->fd(), name, flags | O_CREAT | O_EXCL, 0600));
    if (!made && errno == EEXIST) continue;
    if (!made) return system_failure("make", shown(name), errno);
    // Not all may give a file to the folder's group: then it stays with the user's own, which is enough for one user.
    const uid_t owner = ::geteuid() == 0 ? owner_ : static_cast<uid_t>(-1);
    [[maybe_unused]] const int given = ::fchown(made.get(), owner, group_);
    [[maybe_unused]] const int opened = ::fchmod(made.get(), file_mode_);
    return checked(std::move(made), name, true);
  }
}

Result<Folder::File> Folder::checked(Fd fd, const char* name, bool created) const {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_failure("look at", shown(name), errno);
  if (!S_ISREG(status.st_mode)) return Error{Errc::invalid_argument, in_quotes(shown(name)) + " is not a regular file"};
  if (shared_ && status.st_nlink > 1) {
    return Error{
        Errc::invalid_argument,
        in_quotes(shown(name)) + " has another name elsewhere (a hard link): remove it while nobody uses the folder"};
  }
  return File{std::move(fd), created, status.st_ino, status.st_size};
}

Error Folder::cannot_open(const char* name, int number) const {
  Error error = system_failure("open", shown(name), number);
  const auto status = look(name);
  if (number == EACCES && status) {
    error.message +=
        fmt::format("; it belongs to user {} and has mode {:04o}", user_name(status->st_uid), status->st_mode & 07777);
  }
  return error;
}

Fd Folder::find_socket(const char* name) const {
  Fd socket(::openat(fd(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!socket || ::fstat(socket.get(), &status) != 0) return {};
  if (S_ISSOCK(status.st_mode) && (!shared_ || status.st_nlink == 1)) return socket;
  errno = ENOENT;
  return {};
}

void Folder::share_socket(const char* name) const {
  const Fd socket = find_socket(name);
  struct stat status {};
  // By now another one may have its name.
  if (!socket || ::fstat(socket.get(), &status) != 0 || status.st_uid != ::geteuid()) return;
  const uid_t owner = ::geteuid() == 0 ? owner_ : static_cast<uid_t>(-1);
  [[maybe_unused]] const int given = ::fchownat(socket.get(), "", owner, group_, AT_EMPTY_PATH);
  [[maybe_unused]] const int opened = ::chmod(fmt::format("/proc/self/fd/{}", socket.get()).c_str(), file_mode_);
}

Result<void> Folder::sync() const {
  // EINVAL: a file system that cannot sync a folder, and so keeps names in another way.
  if (::fsync(fd()) != 0 && errno != EINVAL) return system_failure("sync the folder", path_, errno);
  return {};
}

void Folder::remove(const char* name) const { ::unlinkat(fd(), name, 0); }

std::optional<struct stat> Folder::look(const char* name) const {
  struct stat status {};
  if (::fstatat(fd(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status;
}

std::uint64_t Folder::changed(const char* name) const {
  const auto status = look(name);
  if (!status) return 0;
  return static_cast<std::uint64_t>(status->st_ctim.tv_sec) * 1000 +
         static_cast<std::uint64_t>(status->st_ctim.tv_nsec) / 1'000'000;
}

bool Folder::still_there() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return errno != ENOENT && errno != ENOTDIR;
  return status.st_dev == device_ && status.st_ino == inode_;
}

Result<void> allocate(const Fd& fd, std::size_t size, const std::string& shown) {
  const int number = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size));
  return number == 0 ? Result<void>() : system_failure("make room for", shown, number);
}

}  // namespace pawl::store::file
