#pragma once

#include "base/gathering.hpp"
#include "base/runtime.hpp"
#include "store/credentials.hpp"
#include "store/etcd/channel.hpp"
#include "store/etcd/config.hpp"
#include "store/net/link.hpp"

#include <pawl/result.hpp>

#include <netinet/in.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::store::etcd {

/// Which of the members we talk to: it connects to one that answers, logs in, and goes on to the next one when that breaks,
/// wants to be left alone, or is left by leave().
///
/// | state | a member answers, and takes our credentials | the member goes, or leave()             | stop() |
/// |-------|---------------------------------------------|-----------------------------------------|--------|
/// | away  | up; tells up()                              | -                                       | over   |
/// | up    | -                                           | away; tells down(); tries the next one  | over   |
/// | over  | -                                           | -                                       | -      |
///
/// Each member is tried once, then comes a pause that grows.
/// Threads: on the executor only.
class Members final : public net::Link {
 public:
  using SharedChannel = std::shared_ptr<Channel>;

  struct Plan {
    Duration timeout = {};  ///< for connecting to one member
    CredentialSource credentials = {};
    std::optional<sockaddr_in> dns = {};  ///< asked for SRV records, instead of the system's resolver
    std::function<void(const SharedChannel&)> up = {};
    std::function<void(const Error& why)> down = {};
  };

  Members(base::Runtime& runtime, Config config);

  /// Once. Connects, and from then on again and again by itself.
  void start(Plan plan);
  /// Nothing: away.
  const SharedChannel& channel() const { return channel_; }
  const Channel::Token& token() const { return token_; }
  /// The member behind this channel is of no use. Calls under way may end.
  void leave(const SharedChannel& channel, const Error& why);
  /// The servers do not take this token (any more): gets another one, unless that has happened already. A credentials
  /// callback may take longer than the deadline: then the next call uses its result.
  /// Errors: permission_denied (also where we have no credentials), store_unavailable.
  awaitable<Result<void>> log_in_anew(Channel::Token refused, Deadline deadline);
  void stop();

  /// How many there are.
  std::size_t count() const { return addresses_.empty() ? 1 : addresses_.size(); }

 private:
  awaitable<Result<void>> open() override;
  void went_up() override;
  awaitable<Result<void>> find();
  awaitable<Result<void>> find_by_name(Deadline deadline);
  Result<void> prepare_tls(const net::TlsFiles& files);
  awaitable<Result<void>> greet(SharedChannel channel);
  struct Login;
  awaitable<void> log_in_alone(std::shared_ptr<Members> self, SharedChannel channel, std::shared_ptr<Login> login);
  awaitable<Result<void>> log_in(SharedChannel channel);
  bool has_credentials() const;
  SharedChannel make_channel(const net::Address& address);
  Duration share() const;

  base::Runtime& runtime_;
  const Config config_;
  Plan plan_;
  std::vector<net::Address> addresses_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::size_t next_ = 0;  // of addresses_
  SharedChannel channel_;
  SharedChannel trying_;
  Channel::Token token_;
  std::shared_ptr<Login> login_;  // under way
};

}  // namespace pawl::store::etcd
