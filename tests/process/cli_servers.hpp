#pragma once

#include "tests/process/cli.hpp"

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

/// The command with locks on a server.
namespace pawl::test {

inline const std::string path = "PATH=/usr/bin:/bin";

/// pawl has the server's URL in PAWL_STORE.
class CliOnServer : public CliTest {
 protected:
  virtual std::string url() const = 0;

  Process start(Words words) const { return start_with({path, "PAWL_STORE=" + url()}, std::move(words)); }
  Ended pawl(Words words) const { return start(std::move(words)).wait(); }
  /// With another URL, on the command line.
  Ended at(const std::string& url, Words words) const {
    words.insert(words.begin(), {"--store", url});
    return start_with({path}, std::move(words)).wait();
  }

  /// Has the lock, says "started" and waits until it is killed.
  Process holder(const std::string& name, Words options = {}) const;
  bool queued(const std::string& name, Words options = {}) const;
  bool nothing_left() const;
  /// The exit code of one who does not wait.
  int try_run(Words options) const;
};

/// A server for one test, and where it is.
struct Served {
  std::shared_ptr<const void> server;
  std::string url;
};

/// A store whose server the tests can start; of its schemes the first is the default, and has all kinds of locks.
struct ServedStore {
  std::string name;
  std::vector<std::string> schemes;
  std::vector<std::string> shows_waiters;  ///< those of them that do
  std::function<Served()> serve;

  friend void PrintTo(const ServedStore& store, std::ostream* out) { *out << store.name; }
};

/// A new folder.
ServedStore served_folder();

/// What becomes of the command's descendants: on the file store, and on one with a server.
class CliKeeper : public testing::WithParamInterface<ServedStore>, public CliOnServer {
 protected:
  std::string url() const override { return served_.url; }

  /// `pawl run job`, with a lease of two seconds, of a command that starts `sleep 1000` in its own way. It has started.
  Process family(const std::string& script, Words options = {}) const;
  /// The next run of "job". It ends with 9 if it finds one of those of family() alive.
  /// Or with 8 if `noted` is not how many of them there are.
  Process next(int noted) const;

 private:
  std::string pids() const { return folder_ / "pids"; }

  const Served served_ = GetParam().serve();
};

/// Programs that use the terminal themselves, under `pawl run` in an interactive shell.
class CliTerminal : public testing::WithParamInterface<ServedStore>, public CliOnServer {
 protected:
  std::string url() const override { return served_.url; }
  Words environment() const {
    return {"PATH=/usr/bin:/bin", "PS1=> ", "TERM=xterm", "HOME=" + folder_.path(), "PAWL_STORE=" + url()};
  }
  const Words shell{"bash", "--norc", "--noprofile", "--noediting", "-i"};

 private:
  const Served served_ = GetParam().serve();
};

/// `pawl run --no-fork`: on the file store, and on one with a server.
class CliNoFork : public testing::WithParamInterface<ServedStore>, public CliOnServer {
 protected:
  std::string url() const override { return served_.url; }

  /// Of "job", with a lease of two seconds.
  Process run(const std::string& script, Words options = {}) const;
  /// The same, of a script that has begun.
  Process running(const std::string& script, Words options = {}) const;
  bool is_free() const;

 private:
  const Served served_ = GetParam().serve();
};

/// What the command does alike on all of them: each store's own tests say that it is one.
class CliServers : public testing::WithParamInterface<ServedStore>, public CliOnServer {
 protected:
  std::string url() const override { return served_.url; }
  const std::vector<std::string>& schemes() const { return GetParam().schemes; }

 private:
  const Served served_ = GetParam().serve();
};

}  // namespace pawl::test
