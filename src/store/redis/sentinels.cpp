#include "store/redis/sentinels.hpp"

#include "base/lock_name.hpp"
#include "store/redis/answers.hpp"

#include <optional>
#include <utility>

namespace pawl::store::redis {

namespace {

// What a sentinel says when it has learned of a failover, and when it carries one out: that is earlier, because it
// reconfigures all other replicas in between.
constexpr std::string_view switched = "+switch-master";
constexpr std::string_view promoted = "+promoted-slave";

/// Also after an exception: the next doubt asks again.
struct Asking {
  explicit Asking(bool& flag) : asking(flag) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { asking = false; }
  bool& asking;
};

/// In the answer to SENTINEL MASTER: names and values in turn.
std::uint64_t epoch_in(const Reply& answer) {
  for (std::size_t i = 0; i + 1 < answer.items.size(); i += 2) {
    if (answer.items[i].is("config-epoch")) return whole(answer.items[i + 1].text);
  }
  return 0;
}

}  // namespace

// "locks 10.0.0.1 6379 10.0.0.2 6379" and "slave 10.0.0.2:6379 10.0.0.2 6379 @ locks 10.0.0.1 6379".
bool announces_failover(const Reply& message, std::string_view master) {
  if (message.items.size() != 3 || !message.items[0].is("message")) return false;
  const std::string& text = message.items[2].text;
  if (message.items[1].is(switched)) return text.starts_with(std::string(master) + " ");
  return message.items[1].is(promoted) && text.find(" @ " + std::string(master) + " ") != std::string::npos;
}

Sentinels::Sentinels(base::Runtime& runtime, std::vector<net::Address> addresses, std::string master)
    : runtime_(runtime), addresses_(std::move(addresses)), master_(std::move(master)) {}

awaitable<Result<net::Address>> Sentinels::find_master(Deadline deadline) {
  const auto self = shared_from_this();
  Error last{Errc::store_unavailable, "no sentinel answers"};
  std::optional<Named> best;
  std::size_t answers = 0;
  const std::size_t count = addresses_.size();
  const Duration each = (deadline.at - runtime_.now()) / static_cast<std::int64_t>(count);
  const std::size_t first = next_++;  // each time another one: the first may be cut off from the others
  for (std::size_t i = 0; i < count; ++i) {
    const net::Address address = addresses_[(first + i) % count];
    const Deadline until = Deadline::in(runtime_.now(), each).sooner(deadline.at);
    Result<Named> named = co_await ask(address, until);
    if (!named) {
      last = named.error();
      continue;
    }
    ++answers;
    learn(*named);
    if (!best || named->epoch > best->epoch) best = *named;
    if (best->epoch >= epoch_) co_return best->master;
  }
  if (!best) co_return last;
  // Most of them agree: they have been set up anew. Fewer may be cut off from the others.
  if (2 * answers <= count) co_return Error{Errc::store_unavailable, "the sentinels that answer are behind the others"};
  epoch_ = best->epoch;
  co_return best->master;
}

awaitable<Result<Sentinels::Named>> Sentinels::ask(net::Address sentinel, Deadline deadline) {
  Connection::Plan plan;
  plan.timeout = deadline.at - runtime_.now();
  plan.once = true;
  plan.find = [sentinel](Deadline) -> awaitable<Result<net::Address>> { co_return sentinel; };
  plan.greet = [](Deadline) -> awaitable<Result<void>> { co_return Result<void>(); };
  const auto connection = std::make_shared<Connection>(runtime_, std::move(plan));
  Result<void> up = co_await connection->ready(deadline);
  if (!up) {
    connection->stop();
    co_return up.error();
  }
  // In one go, so that both are of the same moment. During a failover only the second one names the new master already.
  const Connection::Asked all = connection->tell({"SENTINEL", "MASTER", master_});
  const Connection::Asked where = connection->tell({"SENTINEL", "get-master-addr-by-name", master_});
  Result<Reply> known = co_await connection->answer_to(all, deadline);
  Result<Reply> answer = co_await connection->answer_to(where, deadline);
  connection->stop();
  if (!answer) co_return answer.error();
  if (answer->items.size() != 2) {
    co_return Error{Errc::store_unavailable, "the sentinels know no master \"" + base::printable(master_) + "\""};
  }
  Named named;
  named.master = sentinel;
  named.master.host = answer->items[0].text;
  named.master.port = static_cast<std::uint16_t>(answer->items[1].number());
  if (known) named.epoch = epoch_in(*known);
  co_return named;
}

void Sentinels::learn(const Named& named) {
  if (named.epoch <= epoch_) return;
  epoch_ = named.epoch;
  if (moved_) moved_(named.master);
}

void Sentinels::watch(Duration timeout, Moved moved) {
  if (!subscriptions_.empty()) return;
  timeout_ = timeout;
  moved_ = std::move(moved);
  subscriptions_.resize(addresses_.size());
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    subscriptions_[i].connection = subscribe_to(i);
    subscriptions_[i].connection->start();
  }
}

std::shared_ptr<Connection> Sentinels::subscribe_to(std::size_t sentinel) {
  Connection::Plan plan;
  plan.timeout = timeout_;
  const std::weak_ptr<Sentinels> weak = weak_from_this();
  plan.find = [address = addresses_[sentinel]](Deadline) -> awaitable<Result<net::Address>> { co_return address; };
  plan.greet = [weak, sentinel](Deadline deadline) -> awaitable<Result<void>> {
    const auto self = weak.lock();
    if (!self) co_return Error{Errc::store_unavailable, "the connection is closed"};
    co_return co_await self->greet(sentinel, deadline);
  };
  plan.hear = [weak, sentinel](const Reply& reply) {
    const auto self = weak.lock();
    if (self && announces_failover(reply, self->master_)) self->doubt(sentinel);
  };
  plan.up = [weak, sentinel] {
    if (const auto self = weak.lock()) self->doubt(sentinel);
  };
  return std::make_shared<Connection>(runtime_, std::move(plan));
}

awaitable<Result<void>> Sentinels::greet(std::size_t sentinel, Deadline deadline) {
  const auto connection = subscriptions_[sentinel].connection;
  const Connection::Asked one = connection->tell({"SUBSCRIBE", switched});
  const Connection::Asked other = connection->tell({"SUBSCRIBE", promoted});
  for (const Connection::Asked& asked : {one, other}) {
    Result<Reply> subscribed = co_await connection->answer_to(asked, deadline);
    if (!subscribed) co_return subscribed.error();
  }
  co_return Result<void>();
}

void Sentinels::doubt(std::size_t sentinel) {
  subscriptions_[sentinel].doubted = true;
  if (std::exchange(subscriptions_[sentinel].asking, true)) return;
  base::spawn(runtime_, settle_doubt(shared_from_this(), sentinel));
}

awaitable<void> Sentinels::settle_doubt([[maybe_unused]] std::shared_ptr<Sentinels> self, std::size_t sentinel) {
  Subscription& subscription = subscriptions_[sentinel];
  const Asking asking(subscription.asking);
  bool answers = true;
  while (answers && subscription.doubted) {
    subscription.doubted = false;
    Result<Named> named = co_await ask(addresses_[sentinel], Deadline::in(runtime_.now(), timeout_));
    answers = bool(named);
    if (answers) learn(*named);
    if (!answers) subscription.doubted = true;  // until the next probe
  }
}

void Sentinels::probe() {
  for (std::size_t i = 0; i < subscriptions_.size(); ++i) {
    subscriptions_[i].connection->probe();
    if (subscriptions_[i].doubted) doubt(i);
  }
}

void Sentinels::stop() {
  for (const Subscription& subscription : subscriptions_) subscription.connection->stop();
}

}  // namespace pawl::store::redis
