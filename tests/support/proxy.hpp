#pragma once

#include "tests/support/server.hpp"
#include "tests/support/socket.hpp"

#include <pawl/options.hpp>

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl::test {

/// Where messages end, in some protocol. Answers with the same number come in the order of their requests.
struct Framing {
  /// How many bytes at the front are one whole message; 0: it is not whole yet.
  using Size = std::function<std::size_t(std::string_view bytes)>;
  Size request;
  Size reply;
  /// What a request is called, in the counts and the rules. Nothing: it is none, and passes. Asked once for each, in order.
  std::function<std::string(std::string_view request)> name;
  /// Nobody has asked for it.
  std::function<bool(std::string_view reply)> pushed = [](std::string_view) { return false; };
  /// Changes what the server says on its way, as a proxy does that speaks for itself; none: passes it on.
  std::function<void(std::string& reply)> rewrite = {};
  /// An answer has the number of its request.
  std::function<std::int64_t(std::string_view message)> number = [](std::string_view) { return 0; };
};

/// What can become of a request.
enum class Fault : std::uint8_t {
  lose_reply,     ///< the server does it, its answer is lost, and the connection is closed
  lose_request,   ///< the server never hears of it, and the connection is closed
  swallow_reply,  ///< the server does it, and this answer alone is missing
  go_silent,      ///< the server does it, and from here on nothing comes back on that connection
  half_reply,     ///< the same, after the first half of the answer
};

/// Stands between clients and a real server, message by message, and makes trouble when told to.
/// Threads: safe to share. It runs in a thread of its own, which ends with this object.
class Proxy {
 public:
  using Match = std::function<bool(const std::string& name, std::string_view request)>;

  Proxy(std::uint16_t server, Framing framing);
  /// For a protocol in which messages depend on those before: a framing for each connection.
  Proxy(std::uint16_t server, std::function<Framing()> framing_of_one);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  std::uint16_t port() const { return port_.number(); }

  /// Of the requests that match from now on, the nth meets this. Once.
  void arrange(Fault fault, Match match, std::size_t nth = 1);
  void arrange(Fault fault, const std::string& name, std::size_t nth = 1);
  /// How many of the arranged faults have come about.
  std::size_t happened() const;

  /// As a host that hangs: connections are taken, and nothing more; and on again, with all that has arrived meanwhile.
  void hold();
  void go_on();
  /// Closes all connections. New ones are welcome.
  void cut();
  /// As an address that moves to another host: new connections go to that server, the old ones stay where they are.
  void move_to(std::uint16_t server);
  void delay_replies(Duration delay);
  /// As a path that is broken one way: requests reach the server, and nothing comes back. Afterwards all that has waited does.
  void hold_replies(bool hold);
  /// The other way round: what the server says arrives, and no request reaches it.
  void hold_requests(bool hold);
  /// Whoever connects, or is connected, gets these bytes for whatever it asks; the server hears nothing. Empty: as before.
  void babble(std::string bytes);
  /// Whoever connects is shown the door at once.
  void shut(bool shut);

  /// Requests so far.
  std::size_t seen(const std::string& name) const;
  std::map<std::string, std::size_t> seen() const;
  /// How many connections there are now, and how many there have ever been.
  std::size_t connections() const;
  std::size_t accepted() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Rule;
  struct Link;

  void run();
  int fill(std::vector<pollfd>& polled);
  void accept_one();
  void serve(Link& link, short client, short server);
  void take_requests(Link& link);
  void take_replies(Link& link);
  bool answer(Link& link, std::string_view reply);
  void send_due(Link& link);
  std::shared_ptr<Rule> rule_for(const std::string& name, std::string_view request);

  const Port port_;
  const std::function<Framing()> framing_;
  int listener_ = -1;
  const Bell bell_;

  mutable std::mutex mutex_;  // guards all below
  std::uint16_t server_;
  std::list<Link> links_;
  std::vector<std::shared_ptr<Rule>> rules_;
  std::map<std::string, std::size_t> seen_;
  std::size_t happened_ = 0;
  std::size_t accepted_ = 0;
  std::string babble_;
  Duration delay_{};
  bool held_ = false;
  bool replies_held_ = false;
  bool requests_held_ = false;
  bool shut_ = false;
  bool over_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace pawl::test
