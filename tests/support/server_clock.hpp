#pragma once

#include "tests/support/temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace pawl::test {

/// The wall clock of servers that are started with environment(): it can be set while they run (clock_preload.cpp).
class ServerClock {
 public:
  ServerClock() {
    const std::int64_t none = 0;
    std::ofstream(file_, std::ios::binary).write(reinterpret_cast<const char*>(&none), sizeof none);
  }

  std::vector<std::string> environment() const {
    return {"LD_PRELOAD=" PAWL_CLOCK_PRELOAD, "PAWL_CLOCK_AHEAD=" + file_};
  }
  /// From the real time.
  void set_ahead(std::chrono::microseconds ahead) {
    const int file = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
    const std::int64_t value = ahead.count();
    ASSERT_EQ(::pwrite(file, &value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
    ::close(file);
  }

 private:
  const TemporaryFolder folder_;
  const std::string file_ = folder_ / "clock";
};

}  // namespace pawl::test
