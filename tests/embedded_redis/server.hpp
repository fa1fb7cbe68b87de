#pragma once

#include "base/simulated_runtime.hpp"
#include "store/net/inside.hpp"
#include "tests/embedded_redis/scripts.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test::embedded {

/// A Redis server inside a simulated world, to which redis::Connection connects as to any other: its protocol, its scripts
/// in a real Lua 5.1, its keys, channels and script cache, on the world's time. Bytes are under way for as long as `latency`
/// says, and stay in their order.
/// Limit: knows the commands that pawl sends, and EVAL, EVALSHA, SCRIPT FLUSH. Nothing blocks it.
class Server : public store::net::InsideServer, public std::enable_shared_from_this<Server> {
 public:
  using Latency = std::function<Duration()>;

  /// `network` carries the bytes, and is where the server runs. All must outlive it, `scripts` as well.
  Server(base::SimWorld& world, base::SimProcess& network, Scripts& scripts, Latency latency);

  base::awaitable<Result<std::shared_ptr<store::net::InsideLine>>> connect(base::Runtime& client,
                                                                           base::Deadline deadline) override;

  /// One command, as if a client had sent it on a connection of its own.
  Answer execute(const Arguments& words) { return execute(words, nullptr); }

  /// Breaks every connection of that client; empty: of all.
  void break_connections(const base::Runtime* client);
  /// SCRIPT FLUSH.
  void forget_scripts() { known_.clear(); }
  /// Ends and starts again: another run id, no scripts, no connections.
  void restart(bool keeps_data);

  Keyspace& keyspace() { return keyspace_; }
  /// After each command: its words, and what was published meanwhile.
  std::function<void(const Arguments&, const std::vector<std::string>&)> after_command = {};
  /// How many commands were served.
  std::uint64_t requests() const { return requests_; }

 private:
  class Line;
  using LinePtr = std::shared_ptr<Line>;

  Answer execute(const Arguments& words, Line* from);
  Answer run(const Arguments& words, Line* from);
  Answer evaluate(const Arguments& words);
  Answer subscribe(const Arguments& words, Line* from);
  Answer info() const;
  std::int64_t publish(const std::string& channel, const std::string& message);
  base::Time arrival(base::Time before);

  base::SimWorld& world_;
  base::SimProcess& network_;
  Scripts& scripts_;
  const Latency latency_;
  Keyspace keyspace_;
  std::string run_id_;
  std::map<std::string, std::string> known_;  // scripts by hash
  std::list<std::weak_ptr<Line>> lines_;
  std::vector<std::string> published_;  // by the command that is just running
  std::uint64_t requests_ = 0;
};

/// A command or an answer as it goes over the wire.
std::string encoded(const Answer& answer);

}  // namespace pawl::test::embedded
