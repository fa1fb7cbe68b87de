#include "fencing/file_fence.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl::fencing {

namespace {

constexpr mode_t file_mode = 0660;                           // the umask takes away what the user does not want
constexpr std::size_t largest_file = std::size_t{16} << 20;  // some 300,000 slots

class Fd {
 public:
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

template <class Call>
auto retried(Call call) {
  auto outcome = call();
  while (outcome < 0 && errno == EINTR) outcome = call();
  return outcome;
}

Error about(const std::string& path, std::string_view what) {
  return {Errc::invalid_argument, fmt::format("\"{}\" cannot be used as a fence: {}", base::printable(path), what)};
}

Error from_errno(std::string_view what, const std::string& path) {
  const int number = errno;
  const bool denied = number == EACCES || number == EPERM || number == EROFS;
  if (number == ELOOP) return about(path, "it is a symbolic link");  // O_NOFOLLOW
  return {denied ? Errc::permission_denied : Errc::store_unavailable,
          fmt::format("the fence cannot {} \"{}\": {}", what, base::printable(path),
                      std::generic_category().message(number))};
}

/// O_NONBLOCK: a FIFO of that name must not stop us. It changes nothing for a regular file.
Fd open_any(const std::string& path, int flags) {
  flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  return Fd(retried([&] { return ::open(path.c_str(), flags, file_mode); }));
}

/// What open_any() gave, unless it failed or found something odd. errno is still that of open_any().
Result<Fd> regular(Fd fd, const std::string& path) {
  if (fd.get() < 0) return from_errno("open", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return from_errno("look at", path);
  if (!S_ISREG(status.st_mode)) return about(path, "it is not a regular file");
  return fd;
}

Result<Fd> open_regular(const std::string& path, int flags) { return regular(open_any(path, flags), path); }

/// Holds the lock file from construction to destruction.
class Exclusion {
 public:
  static Result<Exclusion> enter(const std::string& path) {
    for (;;) {
      auto fd = open_regular(path, O_RDWR | O_CREAT);
      if (!fd) return fd.error();
      if (retried([&] { return ::flock(fd->get(), LOCK_EX); }) != 0) return from_errno("lock", path);
      if (still_there(*fd, path)) return Exclusion(std::move(*fd));
      // Somebody replaced the file while we waited: those who come now would lock another one.
    }
  }
  Exclusion(Exclusion&&) noexcept = default;
  Exclusion& operator=(Exclusion&&) = delete;
  ~Exclusion() {
    // Closing is not enough: a child forked by `write` has the same open file and would keep the lock. The child itself
    // only closes its copy, or it would end its parent's exclusion.
    if (fd_.get() < 0 || ::getpid() != owner_) return;
    order.fetch_add(1);
    ::flock(fd_.get(), LOCK_UN);
  }

 private:
  explicit Exclusion(Fd fd) : fd_(std::move(fd)), owner_(::getpid()) { order.fetch_add(1); }

  static bool still_there(const Fd& fd, const std::string& path) {
    struct stat ours {};
    struct stat named {};
    return ::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
  }

  // flock() orders nothing between threads in the eyes of the language (and of a race detector); this does. A mutex
  // would, too, but a child forked while another thread held it could never take it.
  static inline std::atomic<std::uint64_t> order = 0;

  Fd fd_;
  pid_t owner_;
};

Result<std::string> read_all(const Fd& fd, const std::string& path) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t size = retried([&] { return ::read(fd.get(), block, sizeof block); });
    if (size < 0) return from_errno("read", path);
    if (size == 0) return text;
    text.append(block, static_cast<std::size_t>(size));
    if (text.size() > largest_file) return about(path, "it is too large");
  }
}

Result<void> write_all(const Fd& fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t size = retried([&] { return ::write(fd.get(), text.data(), text.size()); });
    if (size < 0) return from_errno("write", path);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<void> sync(const Fd& fd, const std::string& path) {
  // EINVAL: a file system that cannot sync a folder, and so keeps names in another way.
  if (retried([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) return from_errno("sync", path);
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Fd fd(retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd.get() < 0) return from_errno("open", folder);
  return sync(fd, folder);
}

/// Only called inside the exclusion, so that one name is enough and a crash leaves at most one file behind.
Result<void> write_temporary(const std::string& temporary, const std::string& path, std::string_view text) {
  if (::unlink(temporary.c_str()) != 0 && errno != ENOENT) return from_errno("remove", temporary);
  auto fd = open_regular(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd) return fd.error();
  struct stat old {};
  if (::lstat(path.c_str(), &old) == 0 && ::fchmod(fd->get(), old.st_mode & 0777) != 0) {
    return from_errno("set the mode of", temporary);
  }
  if (auto written = write_all(*fd, text, temporary); !written) return written;
  return sync(*fd, temporary);
}

Result<void> replace(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  auto written = write_temporary(temporary, path, text);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = from_errno("replace", path);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_folder_of(path);
}

}  // namespace

FileFence::FileFence(std::string path, const Marks& fresh, FenceOptions options)
    : FenceCore("file " + path, fresh, options), path_(std::move(path)), lock_(fresh) {}

Result<std::shared_ptr<FenceCore>> FileFence::open(const std::filesystem::path& path, const Marks& fresh,
                                                   FenceOptions options) {
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..") return about(path.string(), "the path does not name a file");
  if (path.string().find('\0') != std::string::npos) return about(path.string(), "the path has a zero byte in it");
  // The folder is resolved now: the working directory may change, and two ways to one file are one fence.
  std::error_code error;
  const auto folder = std::filesystem::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  if (error) {
    errno = error.value();
    return from_errno("find the folder of", path.string());
  }
  const std::shared_ptr<FileFence> fence(new FileFence((folder / name).string(), fresh, options));
  if (auto ready = fence->found(fresh); !ready) return ready.error();
  return std::shared_ptr<FenceCore>(fence);
}

/// Starts the file if it is not there, and makes sure that it is ours if it is.
Result<void> FileFence::found(const Marks& fresh) {
  // Before anything is made: no lock file shall lie beside a file that is not a fence.
  if (auto theirs = read(); !theirs) return theirs.error();
  const auto exclusion = Exclusion::enter(path_ + ".lock");
  if (!exclusion) return exclusion.error();
  const auto marks = read();
  if (!marks) return marks.error();
  return *marks ? Result<void>() : keep(fresh.to_text());
}

Result<std::optional<Marks>> FileFence::read() const {
  Fd any = open_any(path_, O_RDONLY);
  if (any.get() < 0 && errno == ENOENT) return std::optional<Marks>{};
  const auto fd = regular(std::move(any), path_);
  if (!fd) return fd.error();
  const auto text = read_all(*fd, path_);
  if (!text) return text.error();
  const auto marks = Marks::parse(*text);
  if (!marks) return {marks.code(), about(path_, marks.error().message).message};
  if (!marks->same_lock(lock_)) return about(path_, "it is the fence of " + marks->lock() + ", not of " + lock_.lock());
  return std::optional<Marks>(*marks);
}

Result<Marks> FileFence::read_existing() const {
  auto marks = read();
  if (!marks) return marks.error();
  // Starting from nothing would admit everybody who was overtaken.
  if (!*marks) {
    return {Errc::store_unavailable,
            fmt::format("the fence's file \"{}\" has vanished; nothing is admitted until it is back "
                        "or the fence is opened anew",
                        base::printable(path_))};
  }
  return std::move(**marks);
}

Result<void> FileFence::check(const Sequencer& sequencer) const {
  const auto marks = read_existing();
  return marks ? marks->check(sequencer, options_) : marks.error();
}

Result<void> FileFence::change_and_write(const Change& change, const Write& write) {
  const auto exclusion = Exclusion::enter(path_ + ".lock");
  if (!exclusion) return exclusion.error();
  auto marks = read_existing();
  if (!marks) return marks.error();
  const auto changed = change(*marks);
  if (!changed) return changed.error();
  const std::string text = marks->to_text();
  if (auto durable = *changed ? keep(text) : confirm(text); !durable) return durable;
  write();
  return {};
}

Result<void> FileFence::keep(const std::string& text) {
  if (auto replaced = replace(path_, text); !replaced) return replaced;
  durable_ = text;
  return {};
}

/// The mark we found may be that of a process that died between renaming the file and syncing the folder.
Result<void> FileFence::confirm(const std::string& text) {
  if (durable_ == text) return {};
  const auto fd = open_regular(path_, O_RDONLY);
  if (!fd) return fd.error();
  if (auto synced = sync(*fd, path_); !synced) return synced;
  if (auto synced = sync_folder_of(path_); !synced) return synced;
  durable_ = text;
  return {};
}

}  // namespace pawl::fencing
