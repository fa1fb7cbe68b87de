#pragma once

#include "base/gathering.hpp"
#include "base/runtime.hpp"
#include "base/threads.hpp"
#include "base/timer.hpp"
#include "base/url.hpp"
#include "store/net/address.hpp"
#include "store/net/backoff.hpp"
#include "store/zookeeper/heartbeats.hpp"
#include "store/zookeeper/servers.hpp"

#include <pawl/result.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::zookeeper {

using base::awaitable;
using base::Deadline;

/// What a server has answered. Which of it is filled depends on what was asked.
struct Answer {
  int code = ZOK;
  std::string path = {};  ///< of a node that was made
  std::string data = {};
  Stat stat = {};
  std::vector<std::string> children = {};
  std::vector<Answer> parts = {};  ///< of a multi

  bool ok() const { return code == ZOK; }
};

/// One part of a multi.
struct Part {
  enum class What : std::uint8_t { create, remove, set, check } what;
  std::string path;
  std::string data = {};
  int mode = 0;      ///< of create
  int version = -1;  ///< of the others; -1: any
};

inline Part making(std::string path, std::string data, int mode) {
  return Part{Part::What::create, std::move(path), std::move(data), mode};
}
inline Part removing(std::string path) { return Part{Part::What::remove, std::move(path)}; }
inline Part setting(std::string path, std::string data, int version = -1) {
  return Part{Part::What::set, std::move(path), std::move(data), 0, version};
}
inline Part checking(std::string path) { return Part{Part::What::check, std::move(path)}; }

/// A change that a watch has seen.
struct Event {
  enum class What : std::uint8_t { created, deleted, changed, children } what;
  std::string path;
};

enum class Watch : bool { no, yes };

/// A request under way. It goes on when nobody waits for it any more.
class Request {
 public:
  explicit Request(base::Runtime& runtime) : changed_(runtime) {}

  bool done() const { return answer_.has_value(); }
  /// Once it is done.
  const Answer& answer() const { return *answer_; }
  void finish(Answer answer);
  /// The answer, or ZOPERATIONTIMEOUT when the deadline comes first.
  awaitable<Answer> wait(Deadline deadline);

 private:
  std::optional<Answer> answer_;
  base::Gathering changed_;
};
using SharedRequest = std::shared_ptr<Request>;

/// One session with the servers, over whichever of them it reaches: the official C client, driven by our executor. It
/// reconnects by itself, with its watches, as long as the session lives.
///
/// | state   | connected | connection lost | servers say expired, or refuse us | close()  |
/// |---------|-----------|-----------------|-----------------------------------|----------|
/// | away    | up        | away            | over                              | over     |
/// | up      | -         | away            | over                              | over     |
///
/// A server that does not answer for a while is left for another one.
///
/// Promise: requests are applied in the order in which they were made, and events come before answers that are newer.
///          After a reconnect, what was lost with the connection has been applied or never will be.
/// Threads: on the executor only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Plan {
    std::vector<net::Address> servers = {};
    std::string first = {};  ///< which of them is tried first, as server() has told; empty: any
    Duration session = {};   ///< how long the servers wait for a sign of life; they may change it
    std::function<void(const Event&)> hear = {};
    std::function<void(const std::string& why)> away = {};
    std::function<void()> over = {};
  };

  Connection(base::Runtime& runtime, Plan plan);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Once. Looks the servers up, and begins to connect. Errors: store_unavailable.
  awaitable<Result<void>> open(std::optional<base::Credentials> credentials, Deadline deadline);
  /// Waits until it is up. Errors: lost (the session is over), permission_denied, store_unavailable.
  awaitable<Result<void>> ready(Deadline deadline);
  /// Ends the session, also at the servers if they can be reached. That may take a while, on another thread.
  void close();
  /// Waits until that is done. False: the deadline came first.
  awaitable<bool> closed(Deadline deadline);

  bool is_up() const { return state_ == State::up; }
  bool over() const { return state_ == State::over; }
  std::int64_t session_id() const;
  /// What the servers have agreed to.
  Duration session_timeout() const { return session_timeout_; }
  /// To which of the servers it is connected, or was last.
  const std::string& server() const { return server_; }
  /// How often it was connected.
  std::uint64_t links() const { return links_; }

  SharedRequest create(const std::string& path, const std::string& data, int mode);
  SharedRequest remove(const std::string& path);
  SharedRequest set(const std::string& path, const std::string& data, int version);
  SharedRequest exists(const std::string& path);
  SharedRequest get(const std::string& path, Watch watch = Watch::no);
  SharedRequest children(const std::string& path, Watch watch = Watch::no);
  /// All or none. The paths must be possible (check_path), or the client crashes.
  SharedRequest multi(const std::vector<Part>& parts);
  /// Asks for an answer that only a leader can give, with most servers behind it. What is read later is no older.
  SharedRequest heartbeat();
  /// The one that was sent last, for whoever does not need a new one. They are sent by themselves.
  SharedRequest last_heartbeat();

  /// From when the servers' patience counts, at the least.
  base::Time counts_from() const { return heartbeats_->counts_from(); }

 private:
  enum class State : std::uint8_t { away, up, over };
  struct Call;
  using Start = std::function<int(Call&)>;

  SharedRequest ask(const Start& start);
  int start_multi(Call& call, const std::vector<Part>& parts, void_completion_t done);
  void notice_a_silent_end();
  void pump_soon();
  void pump();
  std::ptrdiff_t count_servers() const;
  void begin_with(const std::string& server);
  void take_turns();
  void process(int events);
  void wait_for(boost::asio::posix::descriptor_base::wait_type what, bool& waiting, int event);
  void share_socket(int fd);
  void drop_socket();
  void session_event(int state);
  void came_up();
  void went_away(const std::string& why);
  void end(Error why);
  void beat();
  Duration between_beats() const { return session_timeout_ / Heartbeats::per_session; }
  void watch_for_silence();
  void break_off();
  void find_servers_anew();
  awaitable<void> use_new_addresses(std::shared_ptr<Connection> self);
  class Closing;
  awaitable<void> close_elsewhere(std::shared_ptr<Connection> self, std::shared_ptr<Closing> closing);
  void let_go_of_handle();
  const ACL_vector* acl() const;

  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  static void on_void(int code, const void* call);
  static void on_path(int code, const char* path, const Stat* stat, const void* call);
  static void on_stat(int code, const Stat* stat, const void* call);
  static void on_data(int code, const char* value, int size, const Stat* stat, const void* call);
  static void on_children(int code, const String_vector* names, const Stat* stat, const void* call);
  static void on_multi(int code, const void* call);
  static void on_heartbeat(int code, const void* call);

  base::Runtime& runtime_;
  const std::uint64_t generation_ = base::fork_generation();
  const Plan plan_;
  Servers servers_;
  State state_ = State::away;
  Error why_;  // not up
  zhandle_t* handle_ = nullptr;
  std::set<Call*> calls_;                         // under way; the client owns them
  boost::asio::posix::stream_descriptor socket_;  // that of the client
  int its_socket_ = -1;                           // how the client calls it
  base::Timer timer_;
  base::Timer beat_;
  base::Timer silence_;
  base::Gathering changed_;
  std::optional<Heartbeats> heartbeats_;
  std::deque<base::Time> unanswered_;               // heartbeats, by when they were sent
  std::pair<SharedRequest, base::Time> last_beat_;  // and when it was sent; none: on this connection
  base::Time connecting_since_ = {};
  base::Time looked_up_ = {};
  Duration session_timeout_ = {};
  net::Backoff backoff_;  // between two rounds of attempts to connect
  static constexpr Duration first_patience = std::chrono::seconds(1);
  Duration patience_ = first_patience;  // with a server that takes a connection and says nothing
  std::ptrdiff_t silent_ = 0;           // such servers, since the last one that was not
  std::uint64_t links_ = 0;
  std::uint64_t registration_ = 0;  // of the socket
  bool reading_ = false;
  bool writing_ = false;
  bool will_pump_ = false;
  bool authenticates_ = false;
  bool finding_ = false;
  bool closed_ = false;
  std::string found_;   // the servers' addresses, as the client was told last
  std::string server_;  // of the socket, or the last one
};

}  // namespace pawl::store::zookeeper
