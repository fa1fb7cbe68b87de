#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace pawl::cli {

/// Wakes a poll() from any thread. Once set it stays set until it is cleared.
class Event {
 public:
  Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ::close(fd_); }

  int fd() const { return fd_; }
  void set() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t size = ::write(fd_, &one, sizeof one);
  }
  void clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = ::read(fd_, &count, sizeof count);
  }

  /// As a callback.
  struct Setter {
    const Event* event;
    void operator()() const noexcept { event->set(); }
  };
  Setter setter() const { return {this}; }

 private:
  const int fd_;
};

/// Until one of the two can be read, or the milliseconds are over; -1: for ever.
inline void wait_for(int first, int second, int milliseconds) {
  pollfd both[] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  ::poll(both, 2, milliseconds);
}

}  // namespace pawl::cli
