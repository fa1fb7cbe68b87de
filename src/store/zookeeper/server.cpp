#include "store/zookeeper/server.hpp"

#include "base/escaped.hpp"
#include "fencing/epoch.hpp"
#include "store/credentials.hpp"
#include "store/record.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

constexpr Duration bystander_session = std::chrono::seconds(10);
constexpr int epoch_attempts = 4;  // at something that others may undo meanwhile

std::string epoch_text(std::uint64_t epoch, std::uint64_t store) {
  Words words;
  words.put("epoch", epoch);
  words.put("store", base::hex(store));
  return words.to_text();
}

std::string sentence(int code) { return std::string("ZooKeeper says: ") + zerror(code); }

}  // namespace

Error read_error_of(int code, const Connection& connection) {
  if (code == ZSESSIONCLOSEDREQUIRESASLAUTH || code == ZAUTHFAILED) {
    return {Errc::permission_denied, "the ZooKeeper servers serve only clients with a user and a password"};
  }
  if (connection.over() || code == ZSESSIONEXPIRED) return {Errc::lost, "the session has ended"};
  if (code == ZBADARGUMENTS) return {Errc::invalid_argument, "ZooKeeper cannot have a node of that path"};
  if (code == ZNOAUTH) return {Errc::permission_denied, "the access list of a node in ZooKeeper does not allow it"};
  if (code == ZINVALIDSTATE) return {Errc::store_unavailable, "no connection to the ZooKeeper servers"};
  if (code == ZOPERATIONTIMEOUT) return {Errc::store_unavailable, "the ZooKeeper servers do not answer in time"};
  return {Errc::store_unavailable, sentence(code)};
}

Error error_of(int code, const Connection& connection) {
  // What goes wrong in the client itself goes wrong after it may have been sent, but for these.
  const bool not_sent =
      code == ZINVALIDSTATE || code == ZBADARGUMENTS || code == ZMARSHALLINGERROR || code == ZUNIMPLEMENTED;
  const bool unknown = code <= ZSYSTEMERROR && code > ZAPIERROR && !not_sent;
  if (unknown && !connection.over()) {
    return {Errc::outcome_unknown, "the ZooKeeper servers have not answered"};
  }
  return read_error_of(code, connection);
}

namespace {

std::shared_ptr<Connection> make_connection(base::Runtime& runtime, Connection::Plan plan,
                                            std::function<void(const Event&)> hear, std::function<void()> over) {
  plan.hear = std::move(hear);
  plan.over = std::move(over);
  return std::make_shared<Connection>(runtime, std::move(plan));
}

}  // namespace

Link::Link(base::Runtime& runtime, Connection::Plan plan, std::string epoch_path, std::uint64_t store_id)
    : connection(make_connection(
          runtime, std::move(plan), [this](const Event& event) { hear(event); }, [this] { over(); })),
      runtime_(runtime),
      epoch_path_(std::move(epoch_path)),
      store_id_(store_id) {}

Link::~Link() {
  base::or_out_of_memory([this] { connection->close(); });
}

void Link::hear(const Event& event) {
  if (event.path == epoch_path_) {
    epoch_.reset();
    ++epoch_changes_;
  }
  const auto found = hearers_.find(event.path);
  if (found == hearers_.end()) return;
  std::vector<std::shared_ptr<Hearer>> hearers;
  for (const auto& [raw, weak] : found->second) {
    if (auto hearer = weak.lock()) hearers.push_back(std::move(hearer));
  }
  for (const auto& hearer : hearers) hearer->heard(event);
}

void Link::over() {
  std::set<std::shared_ptr<Hearer>> hearers;
  for (const auto& [path, weak] : hearers_) {
    for (const auto& [raw, hearer] : weak) {
      if (auto alive = hearer.lock()) hearers.insert(std::move(alive));
    }
  }
  for (const auto& hearer : hearers) hearer->over();
}

void Link::listen(const std::string& path, const std::shared_ptr<Hearer>& hearer) {
  hearers_[path][hearer.get()] = hearer;
}

void Link::listen_no_more(const std::string& path, const Hearer* hearer) {
  const auto found = hearers_.find(path);
  if (found == hearers_.end()) return;
  found->second.erase(hearer);
  if (found->second.empty()) hearers_.erase(found);
}

awaitable<Result<void>> Link::make(std::string path, int mode, Deadline deadline) {
  std::vector<std::string> missing{path};
  for (int i = 0; i < 200 && !missing.empty(); ++i) {
    const std::string next = missing.back();
    const int its_mode = missing.size() == 1 ? mode : ZOO_PERSISTENT;
    const Answer made = co_await connection->create(next, "", its_mode)->wait(deadline);
    if (made.ok() || made.code == ZNODEEXISTS) {
      missing.pop_back();
    } else if (made.code == ZNONODE && !parent_of(next).empty()) {
      missing.push_back(parent_of(next));
    } else {
      co_return read_error_of(made.code, *connection);
    }
  }
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Link::epoch(Deadline deadline) {
  for (int i = 0; i < epoch_attempts && !epoch_; ++i) {
    const std::uint64_t changes = epoch_changes_;
    const Answer known = co_await connection->get(epoch_path_, Watch::yes)->wait(deadline);
    if (known.ok()) {
      const std::optional<Words> words = Words::parse(known.data);
      if (!words || words->number("epoch") == 0) {
        co_return Error{Errc::store_unavailable, epoch_path_ + " is not pawl's: it does not hold an epoch"};
      }
      base::parse_hex(words->text("store"), store_id_);
      last_epoch_ = words->number("epoch");
      if (changes == epoch_changes_) epoch_ = last_epoch_;
      continue;
    }
    if (known.code != ZNONODE) co_return read_error_of(known.code, *connection);
    Result<void> above = co_await make(parent_of(epoch_path_), ZOO_PERSISTENT, deadline);
    if (!above) co_return above.error();
    Result<std::uint64_t> next = fencing::next_epoch(last_epoch_, runtime_.unix_milliseconds());
    if (!next) co_return next.error();
    const std::string first = epoch_text(*next, store_id_ != 0 ? store_id_ : runtime_.random());
    const Answer made = co_await connection->create(epoch_path_, first, ZOO_PERSISTENT)->wait(deadline);
    if (!made.ok() && made.code != ZNODEEXISTS) co_return read_error_of(made.code, *connection);
  }
  if (!epoch_) co_return Error{Errc::store_unavailable, "the epoch changes all the time"};
  co_return *epoch_;
}

Server::Server(base::Runtime& runtime, Config config) : runtime_(runtime), config_(std::move(config)) {}

Server::~Server() {
  struct Rest {
    std::map<SessionId, std::shared_ptr<Session>> sessions;
    std::shared_ptr<Link> bystander;
  };
  base::or_out_of_memory([this] {
    auto rest = std::make_shared<Rest>(Rest{std::move(sessions_), std::move(bystander_)});
    if (base::fork_generation() != generation_) {
      // The parent's: to end a socket here takes it off the epoll that both have.
      [[maybe_unused]] const auto* kept = new std::shared_ptr<Rest>(std::move(rest));
      return;
    }
    // Wherever this ends, they end on the executor; with it, if that ends.
    if (!runtime_.inert()) runtime_.send([rest] { *rest = {}; });
  });
}

void Server::attach(Surroundings surroundings) {
  config_.timeout = surroundings.timeout;
  surroundings_ = std::move(surroundings);
}

/// Where others are silent, to try them again would take seconds.
const std::string& Server::last_answered() {
  if (bystander_ && bystander_->connection->is_up()) answered_ = bystander_->connection->server();
  for (const auto& [id, session] : sessions_) {
    if (session->connection().is_up()) answered_ = session->connection().server();
  }
  return answered_;
}

awaitable<Result<std::shared_ptr<Link>>> Server::dial(Duration session, Deadline deadline) {
  const auto self = shared_from_this();
  CredentialSource source{config_.credentials, config_.password_file, surroundings_.credentials, this};
  Result<std::optional<base::Credentials>> credentials = co_await find_credentials(runtime_, std::move(source));
  if (!credentials) co_return credentials.error();
  if (*credentials && (*credentials)->expose().user.find(':') != std::string_view::npos) {
    co_return Error{Errc::invalid_argument, "a user of ZooKeeper has no colon in its name"};
  }
  Connection::Plan plan;
  plan.servers = config_.addresses;
  plan.first = last_answered();
  plan.session = session;
  plan.away = surroundings_.reconnecting;
  const auto link = std::make_shared<Link>(runtime_, std::move(plan), path("/epoch"), store_id_);
  const Deadline sooner = deadline.sooner(base::after(runtime_.now(), config_.timeout));
  Result<void> opened = co_await link->connection->open(*credentials, sooner);
  while (opened) {
    opened = co_await link->connection->ready(sooner);
    if (!opened) break;
    const std::uint64_t links = link->connection->links();
    Result<std::uint64_t> epoch = co_await epoch_of(link, sooner);
    if (epoch) {
      answered_ = link->connection->server();
      co_return link;
    }
    const bool lost_meanwhile = !link->connection->is_up() || link->connection->links() != links;
    if (!lost_meanwhile) co_return epoch.error();
  }
  const bool over = opened.code() == Errc::lost;
  co_return over ? Error{Errc::store_unavailable, opened.error().message} : opened.error();
}

awaitable<Result<void>> Server::connect(Deadline deadline) {
  Result<std::shared_ptr<Link>> link = co_await any(deadline);
  if (!link) co_return link.error();
  co_return Result<void>();
}

awaitable<Result<std::shared_ptr<Link>>> Server::any(Deadline deadline) {
  const auto self = shared_from_this();
  for (const auto& [id, session] : sessions_) {
    if (session->connection().is_up()) co_return session->link;
  }
  if (bystander_ && !bystander_->connection->over()) {
    const auto link = bystander_;
    Result<void> ready = co_await link->connection->ready(deadline);
    if (!ready) co_return ready.error();
    co_return link;
  }
  Result<std::shared_ptr<Link>> link = co_await dial(bystander_session, deadline);
  const bool alone = std::none_of(sessions_.begin(), sessions_.end(),
                                  [](const auto& session) { return !session.second->connection().over(); });
  if (link && alone) bystander_ = *link;
  co_return link;
}

// The servers wait half as long again as the lease: docs/decisions/0015-a-session-outlasts-its-lease.md.
awaitable<Result<SessionGrant>> Server::open_session(SessionRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  Result<std::shared_ptr<Link>> link = co_await dial(request.lease + request.lease / 2, deadline);
  if (!link) co_return link.error();
  const auto session = std::make_shared<Session>();
  session->id = runtime_.make_id<SessionId>();
  session->owner = request.owner;
  session->link = *link;
  session->lease = std::min(request.lease, (*link)->connection->session_timeout() * 2 / 3);
  session->end = std::make_unique<base::Timer>(runtime_, [weak = weak_from_this(), id = session->id] {
    if (const auto server = weak.lock()) server->session_over(id);
  });
  session->end->set(base::after(runtime_.now(), session->connection().session_timeout()));
  sessions_[session->id] = session;
  bystander_.reset();
  co_return SessionGrant{session->id, session->lease};
}

std::shared_ptr<Session> Server::session(SessionId id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() || found->second->connection().over() ? nullptr : found->second;
}

// Nobody up there cares for it any more: then it must not live on because this client answers for it.
void Server::session_over(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  const auto session = found->second;
  sessions_.erase(found);
  session->connection().close();
}

awaitable<Result<Renewal>> Server::renew(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const auto session = this->session(id);
  if (!session) co_return Error{Errc::lost, "session " + to_string(id) + " has ended"};
  Connection& connection = session->connection();
  session->end->set(base::after(runtime_.now(), connection.session_timeout()));
  Result<void> ready = co_await connection.ready(deadline);
  if (!ready) co_return ready.error();
  const Answer alive = co_await connection.last_heartbeat()->wait(deadline);
  if (!alive.ok()) co_return read_error_of(alive.code, connection);
  Renewal renewal;
  renewal.changes = connection.links() - 1 + session->news;
  renewal.counts_from = connection.counts_from() + Heartbeats::beyond(session->lease, connection.session_timeout());
  co_return renewal;
}

awaitable<Result<void>> Server::close_session(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) co_return Result<void>();
  const auto session = found->second;
  session->connection().close();
  const bool closed = co_await session->connection().closed(deadline);
  if (!closed) {
    co_return Error{Errc::store_unavailable, "the servers have not confirmed the end of the session"};
  }
  sessions_.erase(id);
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Server::epoch(Deadline deadline) {
  const auto self = shared_from_this();
  Result<std::shared_ptr<Link>> link = co_await any(deadline);
  if (!link) co_return link.error();
  co_return co_await epoch_of(std::move(*link), deadline);
}

awaitable<Result<std::uint64_t>> Server::epoch_of(std::shared_ptr<Link> link, Deadline deadline) {
  const auto self = shared_from_this();
  Result<std::uint64_t> epoch = co_await link->epoch(deadline);
  if (epoch) store_id_ = link->store_id();
  co_return epoch;
}

awaitable<Result<std::uint64_t>> Server::raise_epoch(Deadline deadline) {
  const auto self = shared_from_this();
  for (int i = 0; i < epoch_attempts; ++i) {
    Result<std::shared_ptr<Link>> link = co_await any(deadline);
    if (!link) co_return link.error();
    Connection& connection = *(*link)->connection;
    // Where the node was deleted, this makes it again.
    Result<std::uint64_t> current = co_await epoch_of(*link, deadline);
    if (!current) co_return current;
    const Answer known = co_await connection.get(path("/epoch"))->wait(deadline);
    if (known.code == ZNONODE) continue;
    if (!known.ok()) co_return read_error_of(known.code, connection);
    std::optional<Words> words = Words::parse(known.data);
    if (!words) co_return Error{Errc::store_unavailable, path("/epoch") + " is not pawl's: it does not hold an epoch"};
    Result<std::uint64_t> next = fencing::next_epoch(words->number("epoch"), runtime_.unix_milliseconds());
    if (!next) co_return next.error();
    // The node's own store id stays: it may be newer than the one that this connection has read.
    words->put("epoch", *next);
    const Answer raised = co_await connection.set(path("/epoch"), words->to_text(), known.stat.version)->wait(deadline);
    if (raised.ok()) co_return *next;
    if (raised.code != ZBADVERSION) co_return error_of(raised.code, connection);
  }
  co_return Error{Errc::store_unavailable, "the epoch changes all the time"};
}

}  // namespace pawl::store::zookeeper
