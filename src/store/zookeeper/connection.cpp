#include "store/zookeeper/connection.hpp"

#include "base/offload.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

namespace pawl::store::zookeeper {

namespace asio = boost::asio;
using asio::posix::descriptor_base;
using boost::system::error_code;

namespace {

constexpr Duration first_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::milliseconds(500);
constexpr std::size_t longest_number = 16;  // that the servers put behind a name, with its end
constexpr Duration between_look_ups = std::chrono::seconds(1);

int to_milliseconds(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<int>::max()));
}

/// While one of these is there, nobody forks. The client has even numeric addresses resolved, by glibc under a lock that a
/// child would find locked for ever.
class NoForks {
 public:
  NoForks() : lock_(mutex()) {}

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    static const int watching = pthread_atfork([] { NoForks::mutex().lock(); }, [] { NoForks::mutex().unlock(); },
                                               [] { NoForks::mutex().unlock(); });
    (void)watching;
    return mutex;
  }

  const std::lock_guard<std::mutex> lock_;
};

/// The client writes the name into a buffer that all connections share, those of other threads as well.
std::string current_server(zhandle_t* handle) {
  const NoForks alone;
  return zoo_get_current_server(handle);
}

void keep_quiet() {
  static const bool once = [] {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // it writes to stderr otherwise
    return true;
  }();
  (void)once;
}

}  // namespace

void Request::finish(Answer answer) {
  answer_ = std::move(answer);
  changed_.notify();
}

awaitable<Answer> Request::wait(Deadline deadline) {
  if (!done()) co_await changed_.wait(deadline.at);
  if (done()) co_return *answer_;
  Answer late;
  late.code = ZOPERATIONTIMEOUT;
  co_return late;
}

/// What the client hands back with an answer.
struct Connection::Call {
  Connection* connection;  // null: nobody cares any more
  SharedRequest request;
  std::function<void()> confirmed = {};
  // Of a multi: the client reads and writes these until it has answered.
  std::vector<Part> parts = {};
  std::vector<zoo_op_t> operations = {};
  std::vector<zoo_op_result_t> results = {};
  std::vector<std::string> paths = {};  // of nodes that are made
  std::vector<Stat> stats = {};

  static void answer(const void* context, Answer answer) {
    const std::unique_ptr<Call> call(static_cast<Call*>(const_cast<void*>(context)));
    if (call->connection == nullptr) return;
    call->connection->calls_.erase(call.get());
    if (answer.ok() && call->confirmed) call->confirmed();
    call->request->finish(std::move(answer));
  }
};

Connection::Connection(base::Runtime& runtime, Plan plan)
    : runtime_(runtime),
      plan_(std::move(plan)),
      servers_(plan_.servers),
      socket_(runtime.executor()),
      timer_(runtime, [this] { process(0); }),
      beat_(runtime, [this] { beat(); }),
      silence_(runtime, [this] { break_off(); }),
      changed_(runtime),
      backoff_(runtime, first_pause, longest_pause) {}

Connection::~Connection() {
  const bool inherited = base::fork_generation() != generation_;
  if (handle_ == nullptr || inherited) return;  // the session is not ours to end
  drop_socket();
  zhandle_t* const handle = handle_;
  let_go_of_handle();
  zookeeper_close(handle);
}

awaitable<Result<void>> Connection::open(std::optional<base::Credentials> credentials, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> found = co_await servers_.look_up(runtime_, deadline);
  if (!found) co_return found;
  if (over()) co_return why_;
  found_ = servers_.addresses();
  keep_quiet();
  connecting_since_ = runtime_.now();
  {
    const NoForks meanwhile;
    handle_ = zookeeper_init(found_.c_str(), &Connection::on_event, to_milliseconds(plan_.session), nullptr, this, 0);
  }
  if (handle_ == nullptr) co_return Error{Errc::store_unavailable, "the ZooKeeper client cannot be started"};
  zoo_set_servers_resolution_delay(handle_, -1);
  if (!plan_.first.empty()) begin_with(plan_.first);
  if (credentials) {
    const base::Credentials::Exposed words = credentials->expose();
    const std::string cert = std::string(words.user) + ":" + std::string(words.password.value_or(""));
    authenticates_ = true;
    zoo_add_auth(handle_, "digest", cert.data(), static_cast<int>(cert.size()), nullptr, nullptr);
  }
  pump();
  co_return Result<void>();
}

awaitable<Result<void>> Connection::ready(Deadline deadline) {
  const auto self = shared_from_this();
  while (state_ == State::away) {
    if (deadline.passed(runtime_.now())) {
      if (why_.code != Errc{}) co_return why_;
      co_return Error{Errc::store_unavailable, "no connection to " + found_ + " in time"};
    }
    co_await changed_.wait(deadline.at);
  }
  if (over()) co_return why_;
  co_return Result<void>();
}

void Connection::close() {
  if (over()) return;
  end(Error{Errc::lost, "the session is closed"});
}

std::int64_t Connection::session_id() const { return handle_ != nullptr ? zoo_client_id(handle_)->client_id : 0; }

const ACL_vector* Connection::acl() const { return authenticates_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE; }

SharedRequest Connection::ask(const Start& start) {
  auto request = std::make_shared<Request>(runtime_);
  auto* call = new Call{this, request};
  int code = ZINVALIDSTATE;
  if (state_ == State::up) {
    calls_.insert(call);
    code = start(*call);
  }
  if (code != ZOK) {  // then it is not sent, and nobody will answer
    calls_.erase(call);
    delete call;
    Answer refused;
    refused.code = code;
    request->finish(std::move(refused));
    return request;
  }
  notice_a_silent_end();
  pump_soon();
  return request;
}

// Where it cannot send, the client closes its socket and tells nobody; the next one may have the same number.
void Connection::notice_a_silent_end() {
  if (state_ != State::up || zoo_state(handle_) == ZOO_CONNECTED_STATE) return;
  drop_socket();
  went_away("the connection to the ZooKeeper servers was lost");
}

SharedRequest Connection::create(const std::string& path, const std::string& data, int mode) {
  return ask([&](Call& call) {
    return zoo_acreate2(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), acl(), mode,
                        &Connection::on_path, &call);
  });
}

SharedRequest Connection::remove(const std::string& path) {
  return ask([&](Call& call) { return zoo_adelete(handle_, path.c_str(), -1, &Connection::on_void, &call); });
}

SharedRequest Connection::set(const std::string& path, const std::string& data, int version) {
  return ask([&](Call& call) {
    return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), version, &Connection::on_stat,
                    &call);
  });
}

SharedRequest Connection::exists(const std::string& path) {
  return ask([&](Call& call) { return zoo_aexists(handle_, path.c_str(), 0, &Connection::on_stat, &call); });
}

SharedRequest Connection::get(const std::string& path, Watch watch) {
  const watcher_fn watcher = watch == Watch::yes ? &Connection::on_event : nullptr;
  return ask([&](Call& call) { return zoo_awget(handle_, path.c_str(), watcher, this, &Connection::on_data, &call); });
}

SharedRequest Connection::children(const std::string& path, Watch watch) {
  const watcher_fn watcher = watch == Watch::yes ? &Connection::on_event : nullptr;
  return ask([&](Call& call) {
    return zoo_awget_children2(handle_, path.c_str(), watcher, this, &Connection::on_children, &call);
  });
}

SharedRequest Connection::multi(const std::vector<Part>& parts) {
  return ask([&](Call& call) { return start_multi(call, parts, &Connection::on_multi); });
}

int Connection::start_multi(Call& call, const std::vector<Part>& parts, void_completion_t done) {
  const std::size_t size = parts.size();
  call.parts = parts;
  call.operations.resize(size);
  call.results.resize(size);
  call.paths.resize(size);
  call.stats.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const Part& part = call.parts[i];
    zoo_op_t* operation = &call.operations[i];
    const int data_size = static_cast<int>(part.data.size());
    switch (part.what) {
      case Part::What::create:
        call.paths[i].resize(part.path.size() + longest_number);
        zoo_create_op_init(operation, part.path.c_str(), part.data.data(), data_size, acl(), part.mode,
                           call.paths[i].data(), static_cast<int>(call.paths[i].size()));
        break;
      case Part::What::remove: zoo_delete_op_init(operation, part.path.c_str(), part.version); break;
      case Part::What::set:
        zoo_set_op_init(operation, part.path.c_str(), part.data.data(), data_size, part.version, &call.stats[i]);
        break;
      case Part::What::check: zoo_check_op_init(operation, part.path.c_str(), part.version); break;
    }
  }
  return zoo_amulti(handle_, static_cast<int>(size), call.operations.data(), call.results.data(), done, &call);
}

// A transaction that changes nothing. The client's own ping is answered by a follower alone, and a sync by a leader that
// others have replaced without its knowledge.
SharedRequest Connection::heartbeat() {
  const base::Time sent = runtime_.now();
  if (heartbeats_) heartbeats_->sent(sent);
  SharedRequest request = ask([&](Call& call) {
    call.confirmed = [this, sent] {
      heartbeats_->confirmed(sent, runtime_.now());
      backoff_.reset();
      while (!unanswered_.empty() && unanswered_.front() <= sent) unanswered_.pop_front();
      watch_for_silence();
    };
    return start_multi(call, {checking("/")}, &Connection::on_heartbeat);
  });
  if (state_ != State::up) return request;
  last_beat_ = {request, sent};
  beat_.set(base::after(sent, between_beats()));
  unanswered_.push_back(sent);
  watch_for_silence();
  return request;
}

SharedRequest Connection::last_heartbeat() {
  const auto& [request, sent] = last_beat_;
  const bool recent = request && runtime_.now() < base::after(sent, between_beats());
  const bool failed = request && request->done() && !request->answer().ok();
  return recent && !failed ? request : heartbeat();
}

// The client itself would wait for two thirds of the session: too long to find another server in what is left.
void Connection::watch_for_silence() {
  if (state_ == State::up && !unanswered_.empty()) {
    silence_.set(base::after(unanswered_.front(), Heartbeats::silence(plan_.session, session_timeout_)));
  } else if (state_ == State::away && socket_.is_open()) {
    silence_.set(base::after(connecting_since_, patience_));
  } else {
    silence_.cancel();
  }
}

void Connection::break_off() {
  // One that is silent says nothing of the others: they are all tried before anybody is given more time.
  const bool all_silent = state_ == State::away && ++silent_ % count_servers() == 0;
  if (all_silent) patience_ = std::min(patience_ * 2, std::max(first_patience, plan_.session / 4));
  if (socket_.is_open()) ::shutdown(socket_.native_handle(), SHUT_RDWR);
}

void Connection::beat() {
  if (state_ != State::up) return;
  heartbeat();
}

void Connection::pump_soon() {
  if (std::exchange(will_pump_, true)) return;
  asio::post(runtime_.executor(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->will_pump_ = false;
    self->pump();
  });
}

// What the client waits for: bytes, room for bytes, and a point in time.
void Connection::pump() {
  if (handle_ == nullptr || over()) return;
  const base::Time before = runtime_.now();
  if (!socket_.is_open()) take_turns();
  int fd = -1;
  int interest = 0;
  timeval pause{};
  std::optional<NoForks> meanwhile;
  if (!socket_.is_open()) meanwhile.emplace();
  const int code = zookeeper_interest(handle_, &fd, &interest, &pause);
  meanwhile.reset();
  if (code == ZINVALIDSTATE) return drop_socket();
  if (code != ZOK || fd == -1) {
    drop_socket();
  } else {
    if (!socket_.is_open() || its_socket_ != fd) {
      drop_socket();
      connecting_since_ = before;
      share_socket(fd);
      server_ = current_server(handle_);
      watch_for_silence();
    }
    if (!socket_.is_open()) interest = 0;
    if ((interest & ZOOKEEPER_READ) != 0 && !reading_) wait_for(descriptor_base::wait_read, reading_, ZOOKEEPER_READ);
    if ((interest & ZOOKEEPER_WRITE) != 0 && !writing_) {
      wait_for(descriptor_base::wait_write, writing_, ZOOKEEPER_WRITE);
    }
  }
  Duration wait = std::chrono::seconds(pause.tv_sec) + std::chrono::microseconds(pause.tv_usec);
  if (!socket_.is_open()) wait = backoff_.next();  // the client would wait for a part of the session
  if (state_ == State::away && links_ > 0) {
    find_servers_anew();
    wait = std::min(wait, between_look_ups);
  }
  timer_.set(base::after(runtime_.now(), wait));
}

std::ptrdiff_t Connection::count_servers() const { return std::count(found_.begin(), found_.end(), ',') + 1; }

// The client has them in an order of its own, and goes to the one behind the one that it is at.
void Connection::begin_with(const std::string& server) {
  std::vector<std::string> round;
  for (std::ptrdiff_t i = 0; i < count_servers(); ++i) {
    zoo_cycle_next_server(handle_);
    round.push_back(current_server(handle_));
  }
  const auto found = std::find(round.begin(), round.end(), server);
  if (found == round.end()) return;
  for (auto before = round.begin(); before != found; ++before) zoo_cycle_next_server(handle_);
}

// When the client loses a server it goes on by one or by two: of two, to the same one again. So we go round, once for sure,
// until it is at the lost one: the next one is behind that.
void Connection::take_turns() {
  const std::string lost = std::exchange(server_, {});
  const std::ptrdiff_t servers = count_servers();
  if (lost.empty() || servers == 1) return;
  for (std::ptrdiff_t i = 1; i <= 2 * servers; ++i) {
    zoo_cycle_next_server(handle_);
    if (i >= servers && lost == current_server(handle_)) return;
  }
}

void Connection::wait_for(descriptor_base::wait_type what, bool& waiting, int event) {
  waiting = true;
  socket_.async_wait(what,
                     [weak = weak_from_this(), &waiting, event, registration = registration_](const error_code& error) {
                       const auto self = weak.lock();
                       if (!self || self->registration_ != registration) return;
                       waiting = false;
                       if (!error) return self->process(event);
                       self->drop_socket();
                       self->pump_soon();
                     });
}

void Connection::process(int events) {
  const auto self = shared_from_this();
  if (handle_ == nullptr || over()) return;
  // After an error the client has closed its socket, and the next one may have the same number.
  const int code = zookeeper_process(handle_, events);
  if (code != ZOK && code != ZNOTHING) drop_socket();
  pump();
}

// We have another descriptor of it: when the client closes its own, anybody may have a file of the same number at once.
void Connection::share_socket(int fd) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  its_socket_ = fd;
  error_code failed;
  const int ours = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (ours >= 0) socket_.assign(ours, failed);
  if (failed) ::close(ours);
}

void Connection::drop_socket() {
  ++registration_;
  reading_ = writing_ = false;
  error_code ignored;
  if (socket_.is_open()) socket_.close(ignored);
}

// Inside zookeeper_process(), where the client must not be closed: so a change of its state is only noted. What a watch has
// seen is handed on at once, before the answers that are newer.
void Connection::on_event(zhandle_t* handle, int type, int state, const char* path, void*) {
  auto* connection = static_cast<Connection*>(const_cast<void*>(zoo_get_context(handle)));
  if (connection == nullptr) return;
  if (type == ZOO_SESSION_EVENT) {
    if (path != nullptr && *path != '\0') return;  // told to each watch as well
    asio::post(connection->runtime_.executor(), [weak = connection->weak_from_this(), state] {
      if (const auto self = weak.lock()) self->session_event(state);
    });
    return;
  }
  if (!connection->plan_.hear) return;
  Event event{Event::What::deleted, path != nullptr ? path : ""};
  if (type == ZOO_CREATED_EVENT) event.what = Event::What::created;
  if (type == ZOO_CHANGED_EVENT) event.what = Event::What::changed;
  if (type == ZOO_CHILD_EVENT) event.what = Event::What::children;
  connection->plan_.hear(event);
}

void Connection::session_event(int state) {
  if (over() || handle_ == nullptr) return;
  if (state == ZOO_CONNECTED_STATE) return came_up();
  if (state == ZOO_EXPIRED_SESSION_STATE) return end(Error{Errc::lost, "the servers have ended the session"});
  if (state == ZOO_AUTH_FAILED_STATE) {
    return end(Error{Errc::permission_denied, "the servers refuse this user or password"});
  }
  went_away("the connection to the ZooKeeper servers was lost");
}

void Connection::came_up() {
  if (zoo_state(handle_) != ZOO_CONNECTED_STATE || state_ == State::up) return;
  const Duration agreed = std::chrono::milliseconds(zoo_recv_timeout(handle_));
  const bool again = heartbeats_.has_value();
  // It may end sooner than we have told those who hold something in it.
  if (again && agreed < session_timeout_) return end(Error{Errc::lost, "the servers have shortened the session"});
  session_timeout_ = agreed;
  const Duration gap = Heartbeats::gap(plan_.session, agreed);
  if (again) {
    heartbeats_->attached(connecting_since_, gap);
  } else {
    heartbeats_.emplace(gap, connecting_since_);
  }
  state_ = State::up;
  why_ = {};
  patience_ = first_patience;
  silent_ = 0;
  ++links_;
  beat_.set(base::after(runtime_.now(), again ? Duration::zero() : between_beats()));
  watch_for_silence();
  changed_.notify();
}

void Connection::went_away(const std::string& why) {
  const bool was_up = std::exchange(state_, State::away) == State::up;
  why_ = Error{Errc::store_unavailable, why};
  beat_.cancel();
  last_beat_ = {};
  unanswered_.clear();
  watch_for_silence();
  changed_.notify();
  if (was_up && plan_.away) plan_.away(why);
  find_servers_anew();
}

// Names may mean other addresses by now, or soon: whoever knows them is often told after we have lost the server.
void Connection::find_servers_anew() {
  const base::Time now = runtime_.now();
  const bool long_ago = now >= base::after(looked_up_, between_look_ups);
  if (links_ == 0 || finding_ || !long_ago) return;
  finding_ = true;
  looked_up_ = now;
  base::spawn(runtime_, use_new_addresses(shared_from_this()));
}

awaitable<void> Connection::use_new_addresses([[maybe_unused]] std::shared_ptr<Connection> self) {
  const Deadline deadline = Deadline::in(runtime_.now(), plan_.session);
  Result<void> found = co_await servers_.look_up(runtime_, deadline);
  finding_ = false;
  if (!found || servers_.addresses() == found_ || handle_ == nullptr || over()) co_return;
  found_ = servers_.addresses();
  {
    const NoForks meanwhile;
    zoo_set_servers(handle_, found_.c_str());
  }
  if (zoo_state(handle_) == ZOO_NOTCONNECTED_STATE) drop_socket();  // it was one of the old ones
  notice_a_silent_end();
  pump_soon();
}

/// Of a handle that nobody uses any more. Where the runtime ends before its turn comes, it is closed on the spot.
class Connection::Closing {
 public:
  explicit Closing(zhandle_t* handle) : handle_(handle) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() {
    if (base::fork_generation() == generation_) now();
  }

  void now() {
    if (zhandle_t* const handle = std::exchange(handle_, nullptr)) zookeeper_close(handle);
  }

 private:
  zhandle_t* handle_;
  const std::uint64_t generation_ = base::fork_generation();
};

void Connection::end(Error why) {
  const auto self = shared_from_this();
  state_ = State::over;
  why_ = std::move(why);
  timer_.cancel();
  beat_.cancel();
  silence_.cancel();
  drop_socket();
  if (handle_ != nullptr) {
    const auto closing = std::make_shared<Closing>(handle_);
    let_go_of_handle();
    base::spawn(runtime_, close_elsewhere(self, closing));
  } else {
    closed_ = true;
  }
  changed_.notify();
  if (plan_.over) plan_.over();
}

void Connection::let_go_of_handle() {
  zoo_set_context(handle_, nullptr);
  handle_ = nullptr;
  for (Call* call : std::exchange(calls_, {})) {
    call->connection = nullptr;
    Answer closed;
    closed.code = ZCLOSING;
    call->request->finish(std::move(closed));
    call->request.reset();
  }
}

// It waits for the servers.
awaitable<void> Connection::close_elsewhere([[maybe_unused]] std::shared_ptr<Connection> self,
                                            std::shared_ptr<Closing> closing) {
  const std::function<void()> close = [closing] { closing->now(); };
  const std::string lane = "zookeeper " + plan_.servers.front().to_string();
  co_await base::offload_when_possible(runtime_, lane, close);  // here it would block everybody
  closed_ = true;
  changed_.notify();
}

awaitable<bool> Connection::closed(Deadline deadline) {
  const auto self = shared_from_this();
  while (!closed_ && !deadline.passed(runtime_.now())) co_await changed_.wait(deadline.at);
  co_return closed_;
}

void Connection::on_void(int code, const void* call) {
  Answer answer;
  answer.code = code;
  Call::answer(call, std::move(answer));
}

// A root that we may not look at is an answer as well.
void Connection::on_heartbeat(int code, const void* call) { on_void(code == ZNOAUTH ? ZOK : code, call); }

void Connection::on_path(int code, const char* path, const Stat* stat, const void* call) {
  Answer answer;
  answer.code = code;
  if (path != nullptr) answer.path = path;
  if (stat != nullptr) answer.stat = *stat;
  Call::answer(call, std::move(answer));
}

void Connection::on_stat(int code, const Stat* stat, const void* call) {
  Answer answer;
  answer.code = code;
  if (stat != nullptr) answer.stat = *stat;
  Call::answer(call, std::move(answer));
}

void Connection::on_data(int code, const char* value, int size, const Stat* stat, const void* call) {
  Answer answer;
  answer.code = code;
  if (value != nullptr && size > 0) answer.data.assign(value, static_cast<std::size_t>(size));
  if (stat != nullptr) answer.stat = *stat;
  Call::answer(call, std::move(answer));
}

void Connection::on_children(int code, const String_vector* names, const Stat* stat, const void* call) {
  Answer answer;
  answer.code = code;
  if (names != nullptr) {
    for (int i = 0; i < names->count; ++i) answer.children.emplace_back(names->data[i]);
  }
  if (stat != nullptr) answer.stat = *stat;
  Call::answer(call, std::move(answer));
}

void Connection::on_multi(int code, const void* context) {
  const auto* call = static_cast<const Call*>(context);
  Answer answer;
  answer.code = code;
  for (std::size_t i = 0; i < call->results.size(); ++i) {
    Answer part;
    part.code = call->results[i].err;
    part.stat = call->stats[i];
    const std::string& room = call->paths[i];  // longer than the path in it
    if (code == ZOK && call->parts[i].what == Part::What::create) part.path = room.substr(0, room.find('\0'));
    answer.parts.push_back(std::move(part));
  }
  Call::answer(context, std::move(answer));
}

}  // namespace pawl::store::zookeeper
