#pragma once

#include "tests/interop/peer.hpp"

#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::test {

/// A peer that speaks ZooKeeper. It has one session and any number of wishes, each with a name, on a thread of its own.
/// KIND is mutex, revocable (a mutex whose owner listens to revocations; Curator only), read, write, or the number of a
/// semaphore's permits. PATH is the lock's folder. Durations are milliseconds.
///
/// | line                      | means                                                                              |
/// |---------------------------|------------------------------------------------------------------------------------|
/// | begin WISH KIND PATH WAIT | begins to acquire it; wait 0: tries once, -1: for ever                             |
/// | wait WISH WITHIN          | ok: it has it; no: it gave up; no news: neither, so far                            |
/// | release WISH              |                                                                                    |
/// | nodes WISH                | who takes part in that lock, as the library sees it; Curator only                  |
/// | asked WISH WITHIN         | waits until somebody asks it to let go; Curator only                               |
/// | revoke NODE               | asks the owner of that node to let go; Curator only                                |
/// | kill                      | ends the session at the server, and comes back with another                        |
/// | visit KIND PATH FILE N    | so often: acquire, raise the number in the file, release                           |
/// | children PATH             | their names, sorted; none when it does not exist                                   |
/// | owner NODE                | the session whose ephemeral node it is, in hex; 0: nobody's                        |
/// | write NODE TEXT           |                                                                                    |
/// | delete NODE               |                                                                                    |
class ZooKeeperPeer {
 public:
  explicit ZooKeeperPeer(Peer& peer) : peer_(peer) {}

  std::string ask(const std::string& line) { return peer_.ask(line); }
  void tell(const std::string& line) { peer_.tell(line); }
  std::string answer() { return peer_.answer(); }

  std::vector<std::string> children(const std::string& path) { return names("children " + path); }
  std::vector<std::string> nodes(const std::string& wish) { return names("nodes " + wish); }

 private:
  std::vector<std::string> names(const std::string& question) {
    const std::string answer = ask(question);
    if (answer != "ok" && !answer.starts_with("ok ")) throw std::runtime_error(question + ": " + answer);
    std::istringstream words(answer.substr(2));
    return {std::istream_iterator<std::string>(words), {}};
  }

  Peer& peer_;
};

}  // namespace pawl::test
