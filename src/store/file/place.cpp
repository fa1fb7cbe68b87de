#include "store/file/place.hpp"

#include "store/file/folder.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace pawl::store::file {

const std::uint32_t this_machine = sizeof(pthread_mutex_t) << 8 | sizeof(void*);

namespace {

constexpr const char* boot_id = "/proc/sys/kernel/random/boot_id";

/// 0 where the kernel has no such namespaces.
std::uint64_t namespace_of(const char* file) {
  struct stat status {};
  return ::stat(file, &status) == 0 ? status.st_ino : 0;
}

Error in_use(const std::optional<Somebody>& user, std::string_view why) {
  const std::string who =
      user->pid == 0 ? "a process of another container (pid namespace)" : fmt::format("process {}", user->pid);
  return {Errc::store_unavailable, fmt::format("{} uses it {}", who, why)};
}

}  // namespace

Result<Place> Place::here() {
  Place place;
  const Fd fd(::open(boot_id, O_RDONLY | O_CLOEXEC));
  if (!fd || ::read(fd.get(), place.boot.data(), place.boot.size() - 1) <= 0) {
    return Error{Errc::unsupported,
                 fmt::format("the file store needs {}, which cannot be read: is /proc mounted?", boot_id)};
  }
  std::replace(place.boot.begin(), place.boot.end(), '\n', '\0');
  place.pid_namespace = namespace_of("/proc/self/ns/pid");
  place.time_namespace = namespace_of("/proc/self/ns/time");
  return place;
}

Result<Verdict> judge(const std::optional<Found>& found, const Place& here, const std::optional<Somebody>& user) {
  if (found && found->layout > current_layout) {
    return Error{Errc::unsupported,
                 fmt::format("its records have layout {}, this pawl knows {} only: use the newer pawl "
                             "that wrote it",
                             found->layout, current_layout)};
  }
  if (!found || !found->finished) {
    if (user) return in_use(user, "although its files are damaged or were replaced: end that process first");
    return Verdict::rebuild;
  }
  if (found->layout != current_layout || found->machine != this_machine) {
    if (user) return in_use(user, "with an older pawl, or one for another machine: end that process first");
    return Verdict::rebuild;
  }
  if (found->place.boot != here.boot || found->place.time_namespace != here.time_namespace) {
    if (user) return in_use(user, "from another machine or time namespace: the file store serves one host");
    return Verdict::rebuild;
  }
  if (found->place.pid_namespace != here.pid_namespace && user) {
    return in_use(user, "from another pid namespace: share the pid namespace, or use a store with a server");
  }
  return user ? Verdict::join : Verdict::take_over;
}

}  // namespace pawl::store::file
