#pragma once

#include "tests/interop/peer.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cctype>
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

  /// Null when it cannot be had on this machine; not_tested() has the reason.
  Peer* peer(std::uint16_t port) {
    if (!peer_ && why_not_.empty()) peer_ = start(port);
    return peer_.get();
  }
  /// Loud, for whoever skims what a test run has printed.
  std::string not_tested(std::string name) const {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name + " INTEROP WAS NOT TESTED: " + why_not_;
  }
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
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  /// Of these programs, the first that is not installed.
  static std::optional<std::string> missing(const std::vector<std::string>& tools) {
    for (const std::string& tool : tools) {
      if (!works("command -v " + tool)) return tool;
    }
    return std::nullopt;
  }
  /// Test programs run at the same time: nobody else builds `at` while we have this.
  static std::shared_ptr<void> build_lock(const std::string& at) {
    const int lock = ::open((at + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ::flock(lock, LOCK_EX);
    return {nullptr, [lock](void*) { ::close(lock); }};
  }
  static bool is_recent(const std::string& path) {
    std::error_code none;
    const auto written = std::filesystem::last_write_time(path, none);
    return !none && std::filesystem::file_time_type::clock::now() - written < std::chrono::minutes(10);
  }
  /// How a program of theirs is built: `command` leaves it at `at`, in the build folder.
  struct Recipe {
    std::string tool, source;        // as they are named to people
    std::vector<std::string> files;  // it is built again when one of these in `source` has changed
    std::string at, command;
    std::string mistake;  // what the tool prints when a file is wrong, rather than a registry out of reach
  };

  /// What went wrong, or nothing. Without a registry the tool gives up in time, and the other test programs of this run do
  /// not try again. Throws when a file is wrong.
  static std::optional<std::string> build(const Recipe& recipe) {
    const std::string built = recipe.at + ".built", failed = recipe.at + ".failed", log = recipe.at + ".build.log";
    const std::shared_ptr<void> alone = build_lock(recipe.at);
    std::string wanted;
    for (const std::string& file : recipe.files) wanted += text_of(PAWL_SOURCE "/" + recipe.source + "/" + file);
    if (text_of(built) == wanted) return std::nullopt;
    const std::string sentence =
        recipe.tool + " could not build " + recipe.source + ", is its registry in reach? See " + log;
    if (is_recent(failed) && text_of(failed) == wanted) return sentence;
    std::filesystem::remove(built);
    const std::string within = "timeout -k 5 180 sh -c \"" + recipe.command + "\" >'" + log + "' 2>&1 </dev/null";
    const bool done = std::system(within.c_str()) == 0;
    if (text_of(log).find(recipe.mistake) != std::string::npos) throw std::runtime_error("see " + log);
    std::ofstream(done ? built : failed) << wanted;
    if (done) return std::nullopt;
    return sentence;
  }
  static std::optional<std::string> build_go(const std::string& source, const std::string& at) {
    // "main.go:" alone is also said of a module that cannot be fetched.
    const std::string command = "cd '" PAWL_SOURCE "/" + source + "' && go build -o '" + at + "' .";
    return build({.tool = "go",
                  .source = source,
                  .files = {"go.mod", "main.go"},
                  .at = at,
                  .command = command,
                  .mistake = "./main.go:"});
  }
  static std::vector<std::string> java(const std::string& class_path, const std::vector<std::string>& program) {
    std::vector<std::string> command{"java",    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp",
                                     class_path};
    command.insert(command.end(), program.begin(), program.end());
    return command;
  }
  static std::optional<std::string> python_with(const std::string& package) {
    for (const std::string python : {"/usr/bin/python3", "python3"}) {
      if (works(python + " -c 'import " + package + "'")) return python;
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<Peer> peer_;
  std::string why_not_;
};

class RedisPy final : public Neighbour {
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    const std::optional<std::string> python = python_with("redis");
    if (!python) return cannot("no python3 here has the package redis (Debian: python3-redis)");
    const std::string program = PAWL_SOURCE "/tests/interop/redis_py_lock.py";
    return std::make_unique<Peer>(std::vector{*python, program, std::to_string(port)}, folder() + "/redis_py.log");
  }
};

/// Built by Maven.
class Redisson final : public Neighbour {
 public:
  static constexpr long watchdog = 3000;  ///< the lease that its locks have by default, in milliseconds

 private:
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    if (auto tool = missing({"mvn", "java", "javac", "timeout"})) return cannot(*tool + " is not installed");
    const std::string source = "tests/interop/redisson", at = folder() + "/redisson";
    const std::string command = "mvn -q -B -f '" PAWL_SOURCE "/" + source + "/pom.xml' '-Dpawl.build=" + at +
                                "' compile dependency:copy-dependencies";
    const Recipe recipe{.tool = "mvn",
                        .source = source,
                        .files = {"pom.xml", "src/main/java/RedissonLock.java"},
                        .at = at,
                        .command = command,
                        .mistake = "COMPILATION ERROR"};
    if (std::optional<std::string> failed = build(recipe)) return cannot(*failed);
    const std::vector<std::string> program{"RedissonLock", std::to_string(port), std::to_string(watchdog)};
    return std::make_unique<Peer>(java(at + "/classes:" + at + "/lib/*", program), folder() + "/redisson.log");
  }
};

/// Go's concurrency.Mutex and concurrency.Election, built by go. PAWL_ETCD_PEER names a program that is built already.
class GoEtcd final : public Neighbour {
 public:
  /// One of several. Throws where peer() is null.
  static std::unique_ptr<Peer> another(std::uint16_t port, const std::string& name) {
    return std::make_unique<Peer>(std::vector{program(), std::to_string(port)}, folder() + "/etcd_" + name + ".log");
  }

 private:
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    if (std::getenv("PAWL_ETCD_PEER") == nullptr) {
      if (auto tool = missing({"go", "timeout"})) return cannot(*tool + " is not installed");
      if (std::optional<std::string> failed = build_go("tests/interop/etcd", program())) return cannot(*failed);
    }
    return another(port, "lock");
  }

  static std::string program() {
    const char* other = std::getenv("PAWL_ETCD_PEER");
    return other != nullptr ? other : folder() + "/etcd_lock";
  }
};

/// What the peers of ZooKeeper ask for as their session timeout, in milliseconds. The server may shorten it.
constexpr int peer_session_timeout = 10'000;

/// Compiled into the build folder, again only when its source or its class path has changed. The class path is that of
/// Debian's packages, or PAWL_CURATOR_CLASSPATH for another Curator.
class Curator final : public Neighbour {
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    if (auto tool = missing({"java", "javac"})) return cannot(*tool + " is not installed");
    const char* other = std::getenv("PAWL_CURATOR_CLASSPATH");
    if (other == nullptr && !std::filesystem::exists(debian)) {
      return cannot("there is no " + std::string(debian) + " (Debian: libcurator-recipes-java)");
    }
    const std::string jars = other != nullptr ? other : debian + std::string(":/usr/share/java/slf4j-simple.jar");
    const std::string classes = build(jars);
    const std::vector<std::string> program{"CuratorLock", std::to_string(port), std::to_string(peer_session_timeout)};
    return std::make_unique<Peer>(java(classes + ":" + jars, program), folder() + "/curator.log");
  }

  /// It names all others that it needs.
  static constexpr const char* debian = "/usr/share/java/curator-recipes.jar";

  static std::string build(const std::string& jars) {
    const std::string source = PAWL_SOURCE "/tests/interop/curator/CuratorLock.java", at = folder() + "/curator";
    const std::string built = at + ".built", log = at + ".javac.log";
    const std::shared_ptr<void> alone = build_lock(at);
    const std::string wanted = jars + "\n" + text_of(source);
    if (text_of(built) == wanted) return at;
    std::filesystem::remove_all(at);
    const std::string command = "javac -d '" + at + "' -cp '" + jars + "' '" + source + "' >'" + log + "' 2>&1";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("Curator's peer cannot be compiled, see " + log);
    std::ofstream(built) << wanted;
    return at;
  }
};

class Kazoo final : public Neighbour {
  std::unique_ptr<Peer> start(std::uint16_t port) override {
    const std::optional<std::string> python = python_with("kazoo");
    if (!python) return cannot("no python3 here has the package kazoo (Debian: python3-kazoo)");
    const std::string program = PAWL_SOURCE "/tests/interop/kazoo_lock.py";
    return std::make_unique<Peer>(
        std::vector{*python, program, std::to_string(port), std::to_string(peer_session_timeout)},
        folder() + "/kazoo.log");
  }
};

}  // namespace pawl::test
