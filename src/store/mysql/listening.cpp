// How a client learns that it has mail.

#include "store/mysql/server.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/log.hpp"
#include "base/wakeup.hpp"
#include "store/mysql/answers.hpp"
#include "store/net/backoff.hpp"

#include <mariadb/mysqld_error.h>

#include <chrono>
#include <utility>

namespace pawl::store::mysql {

namespace {

/// Between statements that are refused.
constexpr Duration shortest_pause = std::chrono::milliseconds(20);
constexpr Duration longest_pause = std::chrono::seconds(5);

/// By KILL QUERY: there may be mail.
bool is_interrupted(const Result<Answer>& answer) { return answer && answer->refused == ER_QUERY_INTERRUPTED; }

}  // namespace

awaitable<Result<void>> Server::listen(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connect(deadline);
  if (!up) co_return up;
  if (!listener_) {
    listener_ = make_connection(Role::listener);
    base::spawn(runtime_, hear(weak_from_this(), listener_, runtime_));
  }
  co_return co_await listener_->ready(deadline);
}

awaitable<Result<void>> Server::greet_listener() {
  const auto self = shared_from_this();
  can_be_woken_ = false;
  last_mail_ = "0";
  Result<void> greeted = co_await greet_another(listener_);
  polls_ = config_.polls || identity_.behind_proxy;
  co_return greeted;
}

Statement Server::next_mail() const {
  return {
      "SELECT seq, claim, what, epoch, counter, contended FROM pawl_mail WHERE mailbox = ? AND seq > ? ORDER BY seq "
      "LIMIT 1000",
      {mailbox_, last_mail_}};
}

// The mail is looked for first: what is committed behind that look interrupts the sleep.
Statement Server::nap() const {
  // The connection before may not have ended at the server yet, and have the lock.
  if (asks_for_lock()) return {"SELECT GET_LOCK(CONCAT('pawl.', CONVERT(? USING ascii)), 0.020)", {mailbox_}};
  const auto longest = std::chrono::ceil<std::chrono::seconds>(config_.recheck).count();
  const std::string seconds = polls_ ? "0.020" : std::to_string(longest);
  return {"SELECT IF(EXISTS (SELECT 1 FROM pawl_mail WHERE mailbox = ? AND seq > ?), 0, SLEEP(" + seconds + "))",
          {mailbox_, last_mail_}};
}

// Holds no Server while it waits, so that the last client ends it.
awaitable<void> Server::hear(std::weak_ptr<Server> weak, SharedConnection listener, base::Runtime& runtime) {
  net::Backoff backoff(runtime, shortest_pause, longest_pause);
  bool reads = true;
  for (;;) {
    Result<void> ready = co_await listener->ready(Deadline::never());
    auto self = weak.lock();
    if (!self) co_return;
    bool goes_on = false;
    if (ready) {
      Statement statement = reads ? self->next_mail() : self->nap();
      self.reset();
      Result<Answer> answer = co_await listener->call(std::move(statement), Deadline::never(), Turn::in_order);
      self = weak.lock();
      if (!self) co_return;
      goes_on = reads ? self->take_mail(answer) : self->take_nap(answer);
      if (goes_on && reads) backoff.reset();
      reads = !reads || !goes_on || is_interrupted(answer);
    }
    self.reset();
    if (goes_on) continue;
    base::Wakeup pause(runtime);
    co_await pause.wait(base::after(runtime.now(), backoff.next()));
  }
}

bool Server::take_mail(const Result<Answer>& answer) {
  if (is_interrupted(answer)) return true;
  if (!answer) return false;
  if (answer->refused == 0) {
    deliver(answer->rows);
    return true;
  }
  const Error why = error_of(*answer);
  if (must_reconnect(answer->refused)) listener_->leave(why);
  if (why.code == Errc::permission_denied && !std::exchange(told_of_mail_, true)) {
    base::log(base::Level::warning,
              "mysql: this account may not read its mail, so that waiters are not woken and look "
              "again by themselves only; GRANT SELECT ON " +
                  base::printable(config_.database) + ".pawl_mail: " + why.message);
  }
  return false;
}

// False: the next statement should wait for a while.
bool Server::take_nap(const Result<Answer>& answer) {
  if (is_interrupted(answer)) return true;
  if (!answer) return false;
  if (!asks_for_lock()) {
    if (must_reconnect(answer->refused)) listener_->leave(error_of(*answer));
    return answer->refused == 0;
  }
  // A member of a Galera cluster has no user locks: no releaser can find this connection.
  if (answer->refused != 0) polls_ = true;
  const std::string got = answer->rows.size() == 1 ? answer->rows[0].at(0) : "";
  can_be_woken_ = got == "1";
  return polls_ || !got.empty();
}

void Server::deliver(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    last_mail_ = row.at(0);
    ClaimId claim;
    if (base::parse_hex(row.at(1), claim.high, claim.low)) notices_.tell(claim, notice_of(row));
  }
}

// What was sent while nothing listened is still there, but its claims may be gone by now.
void Server::listen_anew() {
  notices_.tell_all_to_look();
  doubt_sessions();
}

}  // namespace pawl::store::mysql
