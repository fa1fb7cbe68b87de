#pragma once

#include "base/url.hpp"
#include "store/claim.hpp"
#include "store/mysql/connection.hpp"
#include "store/mysql/identity.hpp"
#include "store/notices.hpp"
#include "store/server_url.hpp"
#include "store/store.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::mysql {

/// What the URL says.
struct Config : ServerConfig {
  std::string database = {};
  static constexpr std::size_t default_most_held = 64;
  std::size_t most_held =
      default_most_held;  ///< connections=: for holds and waiters of a scheme that needs one for each
  bool polls = false;     ///< wake=poll: asks for its mail every 20 ms, and is not woken by KILL QUERY
  Duration recheck =
      std::chrono::seconds(5);  ///< recheck=: who waits for mail looks for it so often, should a wake-up be lost

  const net::Address& address() const { return addresses.front(); }
  /// Others may read what is said: it leaves this machine, and without TLS.
  bool is_exposed() const;
};

/// Reads the text alone: no file is opened, and no server is asked. Errors: invalid_argument.
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

/// A server, as the store and its scheme share it: one connection for statements, and one that waits for mail.
/// Threads: on the executor only.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(base::Runtime& runtime, Config config);
  ~Server();

  void attach(Surroundings surroundings);

  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  std::uint64_t store_id() const { return store_id_; }
  /// Where this client listens.
  const std::string& mailbox() const { return mailbox_; }

  awaitable<Result<void>> connect(Deadline deadline);
  /// Until its client can be told things.
  awaitable<Result<void>> listen(Deadline deadline);
  /// CALL pawl_PROCEDURE(values). A transaction that the server has rolled back for another one's sake is repeated.
  awaitable<Result<std::vector<Row>>> run(std::string procedure, std::vector<std::string> values, Deadline deadline,
                                          Turn turn = Turn::in_order);
  /// A connection for one hold, to the server that the statements go to. A statement on it may take `longest` more than others.
  /// `gone`: it was up, and is gone; it is not connected again.
  std::shared_ptr<Connection> make_own_connection(Duration longest, std::function<void(const Error&)> gone);
  /// Of schemes whose lock is a connection's: where several servers take writes, each has locks of its own, and a proxy may
  /// share connections. Errors: unsupported.
  Result<void> check_local_locks() const;
  /// Behind a procedure that was called on another connection than run() does: wakes whom it could not wake. Gives back its rows.
  awaitable<std::vector<Row>> wake_sleepers(std::vector<Row> rows);
  /// As it is now, after a new epoch was started if `raise`.
  awaitable<Result<std::uint64_t>> ask_epoch(bool raise, Deadline deadline);
  /// On a connection of its own.
  awaitable<Result<std::string>> apply_schema(Deadline deadline);

  void opened(SessionId session) { sessions_[session] = epoch_; }
  void closed(SessionId session) { sessions_.erase(session); }
  /// After a renewal: has the epoch changed since the last one? The server may have lost its last writes: what it granted
  /// must be looked at, and is looked for what was given back.
  bool is_another_epoch(SessionId session);
  std::uint64_t epoch() const { return epoch_; }

  void watch(ClaimId claim, Waker waker) { notices_.watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim) { notices_.unwatch(claim); }
  void tell(ClaimId claim, const Notice& notice) const { notices_.tell(claim, notice); }

 private:
  enum class Role : std::uint8_t { statements, listener, schema };
  using SharedConnection = std::shared_ptr<Connection>;

  Connection::Plan plan_for_all();
  SharedConnection make_connection(Role role);
  awaitable<Result<std::optional<base::Credentials>>> credentials();
  void warn_of_plain_text(const std::optional<base::Credentials>& credentials);
  awaitable<Result<void>> greet();
  awaitable<Result<void>> greet_listener();
  awaitable<Result<void>> greet_another(SharedConnection connection);
  void leave_others(const Error& why);
  awaitable<Result<void>> set_up(SharedConnection connection);
  awaitable<Result<Identity>> look_at_server(SharedConnection connection);
  awaitable<Result<void>> learn_epoch();
  awaitable<Result<void>> install();
  std::vector<std::string> words_of_begin(bool raise) const;
  Result<void> take_epoch(const std::vector<Row>& rows);
  static awaitable<void> hear(std::weak_ptr<Server> weak, SharedConnection listener, base::Runtime& runtime);
  awaitable<void> drop_unknown_claims(std::shared_ptr<Server> self, SessionId session);
  awaitable<Result<void>> drop_unknown_claims(SessionId session);
  Statement next_mail() const;
  Statement nap() const;
  bool asks_for_lock() const { return !can_be_woken_ && !polls_; }
  bool take_mail(const Result<Answer>& answer);
  bool take_nap(const Result<Answer>& answer);
  void deliver(const std::vector<Row>& rows);
  void listen_anew();
  void up_again();
  void doubt_sessions();

  base::Runtime& runtime_;
  Config config_;
  Surroundings surroundings_;
  const std::string mailbox_;
  const std::uint64_t fresh_id_;
  Identity identity_;                        // of the server that the statements go to
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  std::uint64_t epoch_ = 0;
  bool was_up_ = false;
  bool can_be_woken_ = false;  // the listener has its user lock
  bool polls_ = false;         // it cannot have one, or is not to
  bool told_of_mail_ = false;  // the log was, that it cannot be read
  bool told_of_plain_text_ = false;
  std::string last_mail_ = "0";  // that the listener has read
  SharedConnection statements_;
  SharedConnection listener_;
  std::vector<std::weak_ptr<Connection>> own_;   // of holds
  SharedConnection schema_;                      // while it is applied
  std::map<SessionId, std::uint64_t> sessions_;  // and the epoch in which their claims were compared last; 0: not yet
  Notices notices_;                              // of this client's claims
};

}  // namespace pawl::store::mysql
