#pragma once

#include "tests/support/temporary_folder.hpp"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace pawl::test {

/// A number in a file, raised in a way that loses some when two do it at once.
class Counter {
 public:
  Counter() { write(0); }
  std::string path() const { return folder_ / "counter"; }
  int read() const {
    int number = -1;
    std::ifstream(path()) >> number;
    return number;
  }
  void bump() const {
    const int number = read();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    write(number + 1);
  }

 private:
  void write(int number) const { std::ofstream(path()) << number; }
  TemporaryFolder folder_;
};

}  // namespace pawl::test
