#include "store/etcd/members.hpp"

#include "etcd.pb.h"
#include "store/etcd/status.hpp"
#include "store/net/srv.hpp"
#include "store/net/tls.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr Duration shortest_share = std::chrono::seconds(1);

bool without_auth(const Status& status) {
  return status.code == StatusCode::failed_precondition &&
         status.message.find("authentication is not enabled") != std::string::npos;
}

}  // namespace

struct Members::Login {
  explicit Login(base::Runtime& runtime) : done(runtime) {}
  base::Gathering done;
  std::optional<Result<void>> outcome = {};
};

Members::Members(base::Runtime& runtime, Config config)
    : Link(runtime), runtime_(runtime), config_(std::move(config)), addresses_(config_.addresses) {}

void Members::start(Plan plan) {
  plan_ = std::move(plan);
  Link::start();
}

void Members::went_up() {
  if (plan_.up) plan_.up(channel_);
}

Duration Members::share() const {
  return std::min(plan_.timeout, std::max(plan_.timeout / static_cast<std::int64_t>(count()), shortest_share));
}

awaitable<Result<void>> Members::open() {
  Result<void> found = co_await find();
  if (!found) co_return found;
  Error why = closed();
  for (std::size_t tries = addresses_.size(); tries > 0 && !over(); --tries) {
    const net::Address address = addresses_[next_++ % addresses_.size()];
    trying_ = make_channel(address);
    const SharedChannel channel = trying_;
    Result<void> greeted = co_await greet(channel);
    trying_.reset();
    if (over() || !greeted || !channel->is_up()) channel->close();
    if (!greeted) why = greeted.error();
    if (over() || !channel->is_up()) continue;
    channel_ = channel;
    co_return Result<void>();
  }
  co_return why;
}

awaitable<Result<void>> Members::find() {
  const Deadline deadline = Deadline::in(runtime_.now(), plan_.timeout);
  if (config_.tls && !tls_) {
    Result<void> prepared = prepare_tls(*config_.tls);
    if (!prepared) co_return prepared;
  }
  if (!config_.srv.empty()) {
    Result<void> found = co_await find_by_name(deadline);
    co_return found;
  }
  if (next_ == 0) next_ = runtime_.random() % addresses_.size();  // clients spread over the members
  for (net::Address& address : addresses_) address.tls = config_.tls ? tls_ : nullptr;
  co_return Result<void>();
}

bool Members::has_credentials() const {
  const CredentialSource& source = plan_.credentials;
  return source.ask || !source.password_file.empty() || source.from_url;
}

// Each time: the records are what changes when members do. Once members had TLS, they are never asked without it, and a password is
// never sent in plain text because of what DNS does not say.
awaitable<Result<void>> Members::find_by_name(Deadline deadline) {
  std::string name = "_etcd-client-ssl._tcp." + config_.srv;
  Result<std::vector<net::Address>> found = co_await net::look_up_srv(runtime_, name, deadline, plan_.dns);
  if (found && !found->empty()) {
    if (!tls_) {
      Result<void> prepared = prepare_tls(net::TlsFiles());
      if (!prepared) co_return prepared;
    }
    for (net::Address& address : *found) {
      address.tls = tls_;
      address.tls_name = config_.srv;  // as etcdctl: the name of a target is only what DNS says
    }
  } else if (found && !tls_) {
    if (has_credentials()) {
      co_return Error{
          Errc::permission_denied,
          "DNS has no SRV records " + name + ": without TLS, no user and password are sent to members found by DNS"};
    }
    name = "_etcd-client._tcp." + config_.srv;
    found = co_await net::look_up_srv(runtime_, name, deadline, plan_.dns);
  }
  if (!found) co_return found.error();
  if (found->empty()) co_return Error{Errc::store_unavailable, "DNS has no SRV records " + name};
  addresses_ = std::move(*found);
  next_ = 0;
  co_return Result<void>();
}

Result<void> Members::prepare_tls(const net::TlsFiles& files) {
  Result<std::shared_ptr<const net::TlsContext>> made = net::TlsContext::make(files, "h2");
  if (!made) return made.error();
  tls_ = std::move(*made);
  return {};
}

Members::SharedChannel Members::make_channel(const net::Address& address) {
  Channel::Plan plan;
  plan.address = address;
  plan.timeout = plan_.timeout;
  const auto channel = std::make_shared<std::weak_ptr<Channel>>();
  plan.down = [weak = std::weak_ptr(std::static_pointer_cast<Members>(shared_from_this())), channel](const Error& why) {
    const auto self = weak.lock();
    if (self) self->leave(channel->lock(), why);
  };
  auto made = std::make_shared<Channel>(runtime_, std::move(plan));
  *channel = made;
  return made;
}

awaitable<Result<void>> Members::greet(SharedChannel channel) {
  const Deadline deadline = Deadline::in(runtime_.now(), share());
  Result<void> opened = co_await channel->open(deadline);
  if (!opened || token_) co_return opened;
  Result<void> logged_in = co_await log_in(channel);
  co_return logged_in;
}

awaitable<Result<void>> Members::log_in(SharedChannel channel) {
  CredentialSource source = plan_.credentials;
  Result<std::optional<base::Credentials>> credentials = co_await find_credentials(runtime_, std::move(source));
  if (!credentials) co_return credentials.error();
  if (!*credentials || (*credentials)->expose().user.empty()) co_return Result<void>();
  pb::AuthenticateRequest request;
  request.set_name(std::string((*credentials)->expose().user));
  request.set_password(std::string((*credentials)->expose().password.value_or("")));
  const Deadline deadline = Deadline::in(runtime_.now(), share());
  Channel::Reply reply =
      co_await channel->unary("/etcdserverpb.Auth/Authenticate", request.SerializeAsString(), nullptr, deadline);
  if (without_auth(reply.status)) co_return Result<void>();
  if (!reply.status.ok()) {
    co_return Error{verdict_of(reply.status).code, channel->address().to_string() + ": " + reply.status.message};
  }
  pb::AuthenticateResponse answer;
  if (!answer.ParseFromString(reply.bytes) || answer.token().empty()) {
    co_return Error{Errc::unsupported, channel->address().to_string() + ": this is no answer of etcd's to a login"};
  }
  token_ = std::make_shared<const std::string>(answer.token());
  co_return Result<void>();
}

awaitable<Result<void>> Members::log_in_anew(Channel::Token refused, Deadline deadline) {
  const auto self = shared_from_this();
  if (token_ != refused) co_return Result<void>();
  const SharedChannel channel = channel_;
  if (!channel) co_return Error{Errc::store_unavailable, "the connection is gone"};
  std::shared_ptr<Login> login = login_;
  if (!login) {
    login = login_ = std::make_shared<Login>(runtime_);
    base::spawn(runtime_, log_in_alone(std::static_pointer_cast<Members>(self), channel, login));
  }
  while (!login->outcome && !over() && !deadline.passed(runtime_.now())) co_await login->done.wait(deadline.at);
  if (!login->outcome) co_return Error{Errc::store_unavailable, "no login in time"};
  if (*login->outcome && token_ == refused) {
    co_return Error{Errc::permission_denied,
                    channel->address().to_string() + ": the server wants a user and a password"};
  }
  co_return *login->outcome;
}

// By itself: nobody who waits for it may have to wait for longer than its deadline.
awaitable<void> Members::log_in_alone([[maybe_unused]] std::shared_ptr<Members> self, SharedChannel channel,
                                      std::shared_ptr<Login> login) {
  Result<void> logged_in = co_await log_in(std::move(channel));
  login->outcome = std::move(logged_in);
  login_.reset();
  login->done.notify();
}

void Members::leave(const SharedChannel& channel, const Error& why) {
  if (!channel || channel != channel_) return;
  channel_.reset();
  channel->retire();
  broken(why);
  if (plan_.down) plan_.down(why);
}

void Members::stop() {
  if (over()) return;
  close_link();
  if (trying_) trying_->close();
  if (const SharedChannel channel = std::exchange(channel_, nullptr)) channel->close();
  if (login_) login_->done.notify();
}

}  // namespace pawl::store::etcd
