#pragma once

#include "base/gathering.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/info.hpp"
#include "store/redis/script.hpp"
#include "store/redlock/config.hpp"
#include "store/redlock/membership.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pawl::store::redlock {

using base::awaitable;
using base::Deadline;
using redis::Reply;
using redis::Words;

/// One of the masters: a connection, and what the server said of itself when it was greeted.
/// Threads: on the executor only.
class Node : public std::enable_shared_from_this<Node> {
 public:
  /// Tells of a new greeting, and of a connection that is gone.
  using Changed = std::function<void()>;

  /// Tells that it was a member, and has lost its data or was restarted since.
  using Forgot = std::function<void()>;

  Node(base::Runtime& runtime, Config config, net::Address address, Changed changed, Forgot forgot);

  void attach(std::function<Result<Credentials>()> credentials) { ask_credentials_ = std::move(credentials); }
  void stop();

  std::string name() const { return address_.to_string(); }
  bool is_up() const { return connection_ && connection_->is_up(); }
  /// What it said last; not reached while the connection is down, or while it is in doubt.
  NodeRecord record() const;
  const std::string& store() const { return store_; }
  /// Of the server that it is connected to.
  const redis::Life& life() const { return life_; }
  const Error& trouble() const { return trouble_; }
  /// Its name, and why it is not up.
  std::string complaint() const;
  /// It has said since that it is no member: ask it again what it is.
  bool is_in_doubt() const { return !is_up() || in_doubt_; }
  /// As far as it has said. False where nothing is known of it.
  bool is_no_voter(std::uint64_t epoch) const { return !is_in_doubt() && !record_.is_member_of(epoch); }
  /// What it has said is not to be relied on any more.
  void doubt() { in_doubt_ = true; }
  /// When it answered last, whatever that was.
  base::Time last_answer() const { return last_answer_; }
  /// Which connection this is, or was while it is down. What is asked over one arrives in that order, or not at all.
  std::uint64_t link() const { return link_; }

  awaitable<Result<void>> ready(Deadline deadline);
  /// Asks it again what it is.
  awaitable<Result<void>> greet_again(Deadline deadline);
  /// Arguments for the connection over which they are sent.
  using MakeWords = std::function<Words(std::uint64_t link)>;
  /// With <prefix>meta and the prefix in front of the arguments. Unless `patient`, a connection that is down fails at once.
  awaitable<Result<Reply>> run(const redis::Script& script, MakeWords arguments, bool patient, Deadline deadline);
  /// The same with the epoch, and the life of the server, as the scripts for voters want them. Errors: store_unavailable
  /// also where it is no member; it is not asked where that is known.
  awaitable<Result<Reply>> run_as_voter(const redis::Script& script, std::uint64_t epoch, Words arguments, bool patient,
                                        Deadline deadline);
  /// Makes it a member: `words` behind the nonce. False: it refuses.
  awaitable<Result<bool>> join(std::string nonce, Words words, Deadline deadline);

 private:
  void make_connection();
  awaitable<Result<void>> greet(Deadline deadline);
  awaitable<Result<void>> hello(Deadline deadline);
  void note_membership(bool member);
  awaitable<Result<void>> connected(bool patient, Deadline deadline);
  awaitable<Result<Reply>> evaluate(const redis::Script& script, Words head, Words arguments, Deadline deadline);

  base::Runtime& runtime_;
  const Config config_;
  const net::Address address_;
  const std::string meta_key_;
  const Changed changed_;
  const Forgot forgot_;
  std::function<Result<Credentials>()> ask_credentials_;
  std::shared_ptr<redis::Connection> connection_;
  redis::Life life_;
  NodeRecord record_;
  std::uint64_t link_ = 0;
  bool in_doubt_ = false;
  bool was_member_ = false;
  base::Time last_answer_ = {};
  std::string store_;
  Error trouble_;
};

}  // namespace pawl::store::redlock
