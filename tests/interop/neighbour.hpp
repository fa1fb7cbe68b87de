#pragma once

#include "tests/interop/peer.hpp"

#include <sys/file.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace pawl::test {

/// A library of others, and how its program is started: once for all tests of this process, when the first one asks.
class Neighbour {
 public:
  virtual ~Neighbour() = default;

  /// Null when it cannot be had on this machine; why_not() has the reason.
  Peer* peer(std::uint16_t port) {
    if (!peer_ && why_not_.empty()) peer_ = start(port);
    return peer_.get();
  }
  const std::string& why_not() const { return why_not_; }
  /// The next test gets a new one.
  void end() { peer_.reset(); }

 protected:
  /// Null: it has called cannot().
  virtual std::unique_ptr<Peer> start(std::uint16_t port) = 0;
  std::nullptr_t cannot(std::string why) {
    why_not_ = std::move(why);
    return nullptr;
  }
  static bool works(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  /// Where it may leave files, in the build folder.
  static std::string folder() {
    const std::string path = PAWL_BINARY "/interop";
    std::filesystem::create_directories(path);
    return path;
  }

 private:
  std::unique_ptr<Peer> peer_;
  std::string why_not_;
};

class RedisPy final : public Neighbour {
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    for (const std::string python : {"/usr/bin/python3", "python3"}) {
      if (!works(python + " -c 'import redis'")) continue;
      const std::string program = PAWL_SOURCE "/tests/interop/redis_py_lock.py";
      return std::make_unique<Peer>(std::vector{python, program, std::to_string(port)}, folder() + "/redis_py.log");
    }
    return cannot("no python3 here has the package redis (Debian: python3-redis)");
  }
};

/// Built by Maven into the build folder, again only when its sources have changed. Without a registry Maven gives up in
/// time, and the other test programs of this run do not try again.
class Redisson final : public Neighbour {
 public:
  static constexpr long watchdog = 3000;  ///< the lease that its locks have by default, in milliseconds

 private:
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    for (const char* tool : {"mvn", "java", "javac", "timeout"}) {
      if (!works(std::string("command -v ") + tool)) return cannot(std::string(tool) + " is not installed");
    }
    if (std::optional<std::string> failed = build()) return cannot(*failed);
    const std::string at = folder() + "/redisson";
    return std::make_unique<Peer>(
        std::vector<std::string>{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp",
                                 at + "/classes:" + at + "/lib/*", "RedissonLock", std::to_string(port),
                                 std::to_string(watchdog)},
        folder() + "/redisson.log");
  }

  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  static bool is_recent(const std::string& path) {
    std::error_code none;
    const auto written = std::filesystem::last_write_time(path, none);
    return !none && std::filesystem::file_time_type::clock::now() - written < std::chrono::minutes(10);
  }

  /// What went wrong, or nothing.
  static std::optional<std::string> build() {
    const std::string source = PAWL_SOURCE "/tests/interop/redisson", at = folder() + "/redisson";
    const std::string built = at + ".built", failed = at + ".failed", log = at + ".mvn.log";
    const int lock = ::open((at + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ::flock(lock, LOCK_EX);  // test programs run at the same time
    const std::shared_ptr<void> unlock(nullptr, [lock](void*) { ::close(lock); });
    const std::string wanted = text_of(source + "/pom.xml") + text_of(source + "/src/main/java/RedissonLock.java");
    if (text_of(built) == wanted) return std::nullopt;
    const std::string sentence = "mvn could not build tests/interop/redisson, is its registry in reach? See " + log;
    if (is_recent(failed) && text_of(failed) == wanted) return sentence;
    std::filesystem::remove(built);
    const std::string command = "timeout -k 5 120 mvn -q -B -f '" + source + "/pom.xml' '-Dpawl.build=" + at +
                                "' compile dependency:copy-dependencies >'" + log + "' 2>&1 </dev/null";
    const bool done = std::system(command.c_str()) == 0;
    if (text_of(log).find("COMPILATION ERROR") != std::string::npos) throw std::runtime_error("see " + log);
    std::ofstream(done ? built : failed) << wanted;
    if (done) return std::nullopt;
    return sentence;
  }
};

}  // namespace pawl::test
