#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::process {

using namespace std::chrono_literals;

/// A real process with a client of its own, which does what it is told, line by line. It is killed at the end of the
/// scene in any case, and dies with the test.
///
/// | command                     | answer                                                      |
/// |-----------------------------|-------------------------------------------------------------|
/// | open URL [LEASE] [TIMEOUT]  | ok                                                          |
/// | open-default                | ok, with the default store                                  |
/// | start-open URL              | ok; finish-open answers what open would                     |
/// | finish-open, opening        | ok; opening: yes or no                                      |
/// | acquire NAME [DELAY]        | ok TOKEN                                                    |
/// | try NAME                    | ok TOKEN, busy: ...                                         |
/// | start NAME                  | ok; finish answers what acquire would                       |
/// | finish                      | ok TOKEN                                                    |
/// | release, valid, check       | ok; valid: yes or no                                        |
/// | started                     | yes when finish would not have to wait                      |
/// | renewals                    | how many of its sessions so far                             |
/// | hold-many N, release-many   | ok: the locks many0, many1...                               |
/// | wait-many N                 | ok; finish-many answers ok when it has had all of them      |
/// | finish-many                 | ok                                                          |
/// | use-tokens FOLDER           | ok; two tokens are left before more must be on the disk     |
/// | await-loss                  | ok when lost() has fired                                    |
/// | hold-for NAME MAX_HOLD      | ok                                                          |
/// | await-lateness              | how many milliseconds after that deadline lost() fired      |
/// | await-renewals              | ok after three more renewals, or lost                       |
/// | holders NAME, waiters NAME  | a number                                                    |
/// | fork-and HOW                | what became of the child: see file_child.cpp                |
/// | stop-inside, die-inside     | nothing: stops, or dies, inside a transaction               |
/// | mount-small PATH SIZE       | ok; a tmpfs that only this process sees                     |
/// | acquire-until-refused       | the error of the lock that was one too many                 |
/// | crowd FOLDER                | the same, for thousands of locks, which stay held           |
/// | fill PATH                   | ok when the disk is full; free PATH removes it again        |
/// An error is answered as "CODE: sentence".
class Child {
 public:
  struct Options {
    std::vector<std::string> prefix = {};  ///< a program that runs it: unshare...
    std::optional<uid_t> user = {};
    std::optional<gid_t> group = {};
    std::map<std::string, std::string> environment = {};  ///< and file_preload.cpp is preloaded, if there is any
  };
  Child() : Child(Options()) {}
  explicit Child(const Options& options);
  /// Already open.
  explicit Child(const std::string& url, const std::string& lease = "30s");
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// The process itself, also behind a prefix.
  pid_t pid() const { return pid_; }

  /// Sends and waits for the answer.
  std::string say(const std::string& command) {
    send(command);
    return answer();
  }
  void send(const std::string& command);
  /// "(no answer)" after a hang guard, "(dead)" when it has ended.
  std::string answer(std::chrono::milliseconds within = 30s);
  void signal(int number) const;
  /// SIGKILL, and waits for it.
  void kill();
  /// Waits until the kernel shows it as stopped.
  bool stopped(std::chrono::milliseconds within = 5s) const;

 private:
  pid_t started_ = -1;  // what was forked off
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string rest_;
};

/// Waits until the bystander sees that many wait for "job"; false when it hangs.
bool queued(Child& bystander, const std::string& waiters);

/// The token of "ok TOKEN".
std::string token_of(const std::string& answer);

}  // namespace pawl::process
