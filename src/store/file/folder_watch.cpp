#include "store/file/folder_watch.hpp"

#include <fmt/format.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

namespace pawl::store::file {

namespace {

constexpr std::uint32_t leaves = IN_MOVE_SELF | IN_DELETE_SELF;

/// All folders, and links to folders, above a path and at its end. Where one may not be watched the others are.
void watch_all_of(int watch, const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    ::inotify_add_watch(watch, path.substr(0, slash).c_str(), leaves | IN_DONT_FOLLOW);
    if (slash == std::string::npos) return;
  }
}

}  // namespace

Fd watch_folder(const Folder& folder) {
  Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch) return watch;
  // A file that we have open is not deleted for the kernel: the number of its names is an attribute.
  ::inotify_add_watch(watch.get(), folder.reach("gate").c_str(), leaves | IN_ATTRIB | IN_DONT_FOLLOW);
  const std::string open = fmt::format("/proc/self/fd/{}", folder.fd());
  ::inotify_add_watch(watch.get(), open.c_str(), leaves);
  watch_all_of(watch.get(), folder.path());
  std::array<char, 4096> real{};
  const ssize_t size = ::readlink(open.c_str(), real.data(), real.size() - 1);
  if (size > 0) watch_all_of(watch.get(), std::string(real.data(), static_cast<std::size_t>(size)));
  return watch;
}

void read_empty(int watch) {
  alignas(inotify_event) std::array<char, 4096> events;
  for (;;) {
    const ssize_t size = ::read(watch, events.data(), events.size());
    if (size > 0 || (size < 0 && errno == EINTR)) continue;
    return;
  }
}

}  // namespace pawl::store::file
