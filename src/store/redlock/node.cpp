#include "store/redlock/node.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/log.hpp"
#include "store/credentials.hpp"
#include "store/redis/answers.hpp"
#include "store/redlock/scripts.hpp"

#include <optional>
#include <utility>

namespace pawl::store::redlock {

Node::Node(base::Runtime& runtime, Config config, net::Address address, Changed changed, Forgot forgot)
    : runtime_(runtime),
      config_(std::move(config)),
      address_(std::move(address)),
      meta_key_(config_.prefix + "meta"),
      changed_(std::move(changed)),
      forgot_(std::move(forgot)) {}

void Node::make_connection() {
  if (connection_) return;
  redis::Connection::Plan plan;
  plan.timeout = config_.node_timeout;
  plan.once = true;
  const std::weak_ptr<Node> weak = weak_from_this();
  const auto gone = [] { return Error{Errc::store_unavailable, "the connection is closed"}; };
  plan.find = [weak, gone](Deadline) -> awaitable<Result<net::Address>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    co_return self->address_;
  };
  plan.greet = [weak, gone](Deadline deadline) -> awaitable<Result<void>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    co_return co_await self->greet(deadline);
  };
  plan.up = [weak] {
    if (const auto self = weak.lock()) self->changed_();
  };
  plan.down = [weak](const Error&) {
    if (const auto self = weak.lock()) self->changed_();
  };
  connection_ = std::make_shared<redis::Connection>(runtime_, std::move(plan));
}

void Node::stop() {
  if (connection_) connection_->stop();
}

NodeRecord Node::record() const { return is_in_doubt() ? NodeRecord() : record_; }

awaitable<Result<void>> Node::ready(Deadline deadline) {
  const auto self = shared_from_this();
  make_connection();
  Result<void> up = co_await connection_->ready(deadline);
  if (!up) trouble_ = up.error();
  co_return up;
}

awaitable<Result<void>> Node::greet(Deadline deadline) {
  const auto self = shared_from_this();
  ++link_;
  CredentialSource source{config_.credentials, config_.password_file, ask_credentials_, this};
  const Result<std::optional<base::Credentials>> known = co_await find_credentials(runtime_, std::move(source));
  if (!known) co_return known.error();
  const bool has_password = *known && (*known)->expose().password;
  if (has_password) {
    const base::Credentials::Exposed words = (*known)->expose();
    Words auth{"AUTH"};
    if (!words.user.empty()) auth.push_back(words.user);
    auth.push_back(words.password.value_or(""));
    Result<Reply> welcome = co_await connection_->ask(std::move(auth), deadline);
    if (!welcome) co_return welcome.error();
  }
  Words question{"INFO"};
  Result<Reply> info = co_await connection_->ask(std::move(question), deadline);
  if (!info) co_return info.error();
  const std::string policy = redis::dangerous_policy(info->text);
  if (!policy.empty()) {
    base::log(base::Level::warning, "redlock: maxmemory-policy of " + name() + " is " + base::printable(policy) +
                                        ": the server may throw locks away; noeviction is right");
  }
  Result<redis::Life> life = redis::life_of(info->text);
  if (!life) co_return life.error();
  life_ = std::move(*life);
  last_answer_ = runtime_.now();
  // A script that is not known would be sent again, behind what was asked meanwhile.
  for (const redis::Script* script : {&scripts().acquire, &scripts().raise, &scripts().release, &scripts().renew}) {
    connection_->tell({"SCRIPT", "LOAD", script->text});
  }
  co_return co_await hello(deadline);
}

awaitable<Result<void>> Node::hello(Deadline deadline) {
  Words words{"EVAL", scripts().hello.text, "1", meta_key_, config_.prefix, life_};
  words.push_back(base::to_string(runtime_.make_id<ClaimId>()));
  Result<Reply> answer = co_await connection_->ask(std::move(words), deadline);
  if (!answer) co_return answer.error();
  const std::vector<Reply>& items = answer->items;
  if (items.size() == 2 && items[0].is("layout")) {
    co_return Error{Errc::unsupported, "a newer pawl keeps its locks there, in layout " + items[1].text};
  }
  if (items.size() != 5) co_return redis::unexpected();
  in_doubt_ = false;
  record_.reached = true;
  record_.nonce = items[0].text;
  record_.epoch = redis::whole(items[1].text);
  record_.of_this_life = items[2].is("1");
  record_.used = items[3].is("1");
  store_ = items[4].text;
  note_membership(record_.is_member_of(record_.epoch) && record_.epoch != 0);
  co_return Result<void>();
}

void Node::note_membership(bool member) {
  if (std::exchange(was_member_, member) && !member) forgot_();
}

awaitable<Result<void>> Node::greet_again(Deadline deadline) {
  const auto self = shared_from_this();
  if (!is_up()) co_return co_await ready(deadline);
  co_return co_await hello(deadline);
}

awaitable<Result<void>> Node::connected(bool patient, Deadline deadline) {
  const auto self = shared_from_this();
  make_connection();
  if (is_up()) co_return Result<void>();
  connection_->start();
  if (!patient) co_return Error{Errc::store_unavailable, name() + " is not connected"};
  co_return co_await ready(deadline);
}

awaitable<Result<Reply>> Node::evaluate(const redis::Script& script, Words head, Words arguments, Deadline deadline) {
  const std::uint64_t link = link_;
  Words words{"EVALSHA", script.sha1, "1", meta_key_, config_.prefix};
  words.append(head);
  words.append(arguments);
  Result<Reply> answer = co_await connection_->ask(std::move(words), deadline);
  if (answer) last_answer_ = runtime_.now();
  const bool unknown_script = answer && answer->type == Reply::Type::error;
  if (!unknown_script) co_return answer;
  // Never over another connection: the arguments are for this one.
  if (!is_up() || link_ != link) co_return Error{Errc::store_unavailable, name() + " has lost its connection"};
  Words again{"EVAL", script.text, "1", meta_key_, config_.prefix};
  again.append(head);
  again.append(arguments);
  co_return co_await connection_->ask(std::move(again), deadline);
}

awaitable<Result<Reply>> Node::run(const redis::Script& script, MakeWords arguments, bool patient, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connected(patient, deadline);
  if (!up) co_return up.error();
  Words head;
  Words words = arguments(link_);
  co_return co_await evaluate(script, std::move(head), std::move(words), deadline);
}

std::string Node::complaint() const {
  const std::string& message = trouble_.message;
  if (message.starts_with(name() + ":")) return message;
  return name() + ": " + (message.empty() ? "no answer" : message);
}

awaitable<Result<Reply>> Node::run_as_voter(const redis::Script& script, std::uint64_t epoch, Words arguments,
                                            bool patient, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connected(patient, deadline);
  if (!up) co_return up.error();
  const Error no_voter{Errc::store_unavailable, name() + " has lost its data, or has begun another epoch"};
  if (is_no_voter(epoch)) co_return no_voter;
  Words head{std::to_string(epoch), life_};
  Result<Reply> answer = co_await evaluate(script, std::move(head), std::move(arguments), deadline);
  const bool stranger = answer && answer->items.size() == 1 && answer->items[0].is("stranger");
  if (!stranger) co_return answer;
  // News only where we took it for a member: it may have been greeted since this was asked.
  if (record_.is_member_of(epoch)) {
    doubt();
    note_membership(false);
  }
  co_return no_voter;
}

awaitable<Result<bool>> Node::join(std::string nonce, Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (!is_up()) co_return Error{Errc::store_unavailable, name() + " is not connected"};
  Words head{life_, nonce};
  Result<Reply> answer = co_await evaluate(scripts().join, std::move(head), std::move(words), deadline);
  if (!answer) co_return answer.error();
  co_return answer->number() == 1;
}

}  // namespace pawl::store::redlock
