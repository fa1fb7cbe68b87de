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

Members::Members(base::Runtime& runtime, Config config)
    : Link(runtime),
      runtime_(runtime),
      config_(std::move(config)),
      addresses_(config_.addresses),
      login_done_(runtime) {}

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

// Each time: the records are what changes when members do. Who has TLS is never asked without.
awaitable<Result<void>> Members::find_by_name(Deadline deadline) {
  std::string name = "_etcd-client-ssl._tcp." + config_.srv;
  Result<std::vector<net::Address>> found = co_await net::look_up_srv(runtime_, name, deadline);
  if (found && !found->empty()) {
    if (!tls_) {
      Result<void> prepared = prepare_tls(net::TlsFiles());
      if (!prepared) co_return prepared;
    }
    for (net::Address& address : *found) address.tls = tls_;
  } else if (found && !config_.tls) {
    name = "_etcd-client._tcp." + config_.srv;
    found = co_await net::look_up_srv(runtime_, name, deadline);
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
  Result<void> logged_in = co_await log_in(channel, Deadline::in(runtime_.now(), share()));
  co_return logged_in;
}

awaitable<Result<void>> Members::log_in(SharedChannel channel, Deadline deadline) {
  CredentialSource source = plan_.credentials;
  Result<std::optional<base::Credentials>> credentials = co_await find_credentials(runtime_, std::move(source));
  if (!credentials) co_return credentials.error();
  if (!*credentials || (*credentials)->expose().user.empty()) co_return Result<void>();
  pb::AuthenticateRequest request;
  request.set_name(std::string((*credentials)->expose().user));
  request.set_password(std::string((*credentials)->expose().password.value_or("")));
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
  while (logging_in_ && !deadline.passed(runtime_.now())) co_await login_done_.wait(deadline.at);
  if (token_ != refused) co_return Result<void>();
  const SharedChannel channel = channel_;
  if (!channel) co_return Error{Errc::store_unavailable, "the connection is gone"};
  if (logging_in_) co_return Error{Errc::store_unavailable, "no login in time"};
  logging_in_ = true;
  Result<void> logged_in = co_await log_in(channel, deadline);
  logging_in_ = false;
  login_done_.notify();
  if (logged_in && token_ == refused) {
    co_return Error{Errc::permission_denied,
                    channel->address().to_string() + ": the server wants a user and a password"};
  }
  co_return logged_in;
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
  login_done_.notify();
}

}  // namespace pawl::store::etcd
