#pragma once

#include "apps/cli/torture/chance.hpp"
#include "apps/cli/torture/scene.hpp"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pawl::torture {

/// The worker processes: starts them, stops, wakes, kills and replaces them. They die with this process.
class Crew {
 public:
  struct Setting {
    std::vector<std::string> command = {};  ///< the first words of a worker's command line, behind the program itself
    Orders orders = {};                     ///< but for the worker's name and seed
    std::size_t places = 5;
    /// The store as a worker in that place reaches it.
    std::function<std::string(std::size_t place)> url = {};
  };

  Crew(Setting setting, std::uint64_t seed);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  /// One that runs is stopped; tend() wakes it.
  bool stop_one(Chance& chance);
  /// One is killed with -9, and another one takes its place.
  void kill_one(Chance& chance);
  /// Wakes those whose time has come, also those that have stopped themselves, and notices who has ended. To be called often.
  void tend();

  bool working() const;
  std::size_t places() const { return members_.size(); }
  /// Those that have not been killed.
  std::vector<std::string> names() const;
  /// Those that have ended otherwise than they should: a sentence for each.
  const std::vector<std::string>& accidents() const { return accidents_; }
  std::size_t pauses() const { return pauses_; }

 private:
  struct Member {
    std::string name = {};
    pid_t pid = -1;  ///< -1: it has ended
    bool to_stop = false;
    Nanoseconds wake_at = 0;  ///< 0: it runs
  };

  void start(std::size_t place);
  void notice(Member& member, int status);

  const Setting setting_;
  Chance chance_;
  std::vector<Member> members_;
  std::vector<int> lives_;
  std::vector<std::string> accidents_ = {};
  std::size_t pauses_ = 0;
};

}  // namespace pawl::torture
