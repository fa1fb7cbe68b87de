// What others see of a lock, and what they may do about it: questions to all nodes, answered by a majority.

#include "store/redlock/layout.hpp"
#include "store/redlock/majority.hpp"
#include "store/redlock/scripts.hpp"
#include "store/redlock/views.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::store::redlock {

namespace {

/// For SCAN: the prefix may have characters that mean something there.
std::string pattern_of_claims(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix + "c:") {
    if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

/// SCAN on every node, step by step. A node that is silent at one step is left out of the next ones.
class Scan {
 public:
  explicit Scan(std::size_t nodes) : cursors_(nodes, "0"), asked_(nodes) {}

  bool more() const {
    return std::any_of(cursors_.begin(), cursors_.end(), [](const std::string& cursor) { return !cursor.empty(); });
  }
  /// Where to go on at that node; empty: nothing is left there.
  std::string ask(std::size_t node) {
    asked_[node] = true;
    return std::exchange(cursors_[node], "");
  }
  void hear(std::size_t node, const Result<Reply>& answer) {
    const bool told = asked_[node] && answer && answer->items.size() >= 2;
    if (!told) return;
    if (!answer->items[1].is("0")) cursors_[node] = answer->items[1].text;
    for (std::size_t i = 2; i < answer->items.size(); ++i) names_.insert(answer->items[i].text);
  }
  void step_is_over() { asked_.assign(asked_.size(), false); }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  std::vector<std::string> cursors_;
  std::vector<bool> asked_;
  std::set<std::string> names_;
};

}  // namespace

awaitable<Result<Standing>> Majority::look(Claim claim, Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster);
  const auto asked_to_let_go = std::make_shared<bool>(false);
  const Words words{to_string(claim.id), key_of(cluster->config(), claim.key)};
  const Cluster::Hear hear = [question, asked_to_let_go](std::size_t node, const Result<Reply>& answer) {
    const bool told = answer && !answer->items.empty();
    if (!told) return question->failed(node);
    if (!answer->items[0].is("held")) return question->no(node);
    *asked_to_let_go = *asked_to_let_go || (answer->items.size() == 2 && answer->items[1].is("1"));
    question->yes(node);
  };
  cluster->ask_all(scripts().look, words, deadline, hear);
  co_await Answers::wait(question, cluster, deadline);
  const Poll::Verdict verdict = question->verdict();
  if (verdict == Poll::Verdict::silence || verdict == Poll::Verdict::open) co_return too_few_answers();
  Standing standing;
  const auto found = entries_.find(claim.id);
  if (found == entries_.end()) co_return standing;
  Entry& entry = *found->second;
  if (!entry.held) {
    standing.place = Standing::Place::waiting;
  } else if (verdict == Poll::Verdict::yes) {
    standing.place = Standing::Place::held;
    standing.token = entry.token;
    standing.release_requested = *asked_to_let_go;
    entry.asked_to_let_go = entry.asked_to_let_go || *asked_to_let_go;
  }
  co_return standing;
}

awaitable<Result<void>> Majority::relabel(Claim claim, Deadline deadline) {
  const auto cluster = cluster_;
  if (const auto found = entries_.find(claim.id); found != entries_.end()) found->second->claim.label = claim.label;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster);
  const Words words{to_string(claim.id), claim.label};
  cluster->ask_all(scripts().relabel, words, deadline,
                   [question](std::size_t node, const Result<Reply>& answer) { question->count(node, answer); });
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() == Poll::Verdict::yes) co_return Result<void>();
  co_return Error{Errc::outcome_unknown, "too few nodes have answered"};
}

awaitable<Result<std::vector<LockView>>> Majority::views_of(std::vector<LockKey> keys, Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster, Question::Until::answered);
  const auto seen = std::make_shared<std::vector<SeenLock>>(keys.size());
  Words words;
  for (const LockKey& key : keys) {
    words.push_back(lock_id(key));
    words.push_back(key_of(cluster->config(), key));
  }
  cluster->ask_all(scripts().inspect, words, deadline, [question, seen](std::size_t node, const Result<Reply>& answer) {
    const bool told = answer && answer->items.size() == seen->size() + 1;
    for (std::size_t i = 0; told && i < seen->size(); ++i) (*seen)[i].hear(answer->items[i + 1]);
    told ? question->yes(node) : question->failed(node);
  });
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() != Poll::Verdict::yes) co_return too_few_answers();
  std::vector<LockView> views;
  for (std::size_t i = 0; i < keys.size(); ++i)
    views.push_back((*seen)[i].view(keys[i], declared.scheme, cluster->majority()));
  co_return views;
}

awaitable<Result<LockView>> Majority::inspect(LockKey key, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  std::vector<LockKey> keys;
  keys.push_back(key);
  Result<std::vector<LockView>> views = co_await views_of(std::move(keys), deadline);
  if (!views) co_return views.error();
  co_return std::move(views->front());
}

awaitable<Result<std::vector<std::string>>> Majority::names_on_the_nodes(Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const std::string pattern = pattern_of_claims(cluster->config().prefix);
  const auto scan = std::make_shared<Scan>(cluster->size());
  while (scan->more()) {
    const auto question = std::make_shared<Question>(*cluster, Question::Until::answered);
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      const std::string cursor = scan->ask(i);
      if (cursor.empty()) {
        question->yes(i);
        continue;
      }
      Words words{cursor, pattern};
      cluster->ask(i, cluster->epoch(), scripts().names, std::move(words), deadline,
                   [question, scan](std::size_t node, const Result<Reply>& answer) {
                     scan->hear(node, answer);
                     question->count(node, answer);
                   });
    }
    co_await Answers::wait(question, cluster, deadline);
    scan->step_is_over();
    if (question->verdict() != Poll::Verdict::yes) co_return too_few_answers();
  }
  co_return scan->names();
}

awaitable<Result<std::vector<LockView>>> Majority::list(std::string prefix, Deadline deadline) {
  Result<std::vector<std::string>> names = co_await names_on_the_nodes(deadline);
  if (!names) co_return names.error();
  std::vector<LockView> views;
  constexpr std::size_t most_at_once = 10;  // a node shows up to 500 waiters of each, in one script
  for (auto name = names->begin(); name != names->end();) {
    std::vector<LockKey> keys;
    for (; name != names->end() && keys.size() < most_at_once; ++name) {
      const Result<LockName> lock = LockName::make(*name);
      if (lock && name->starts_with(prefix)) keys.push_back({Kind::mutex, *lock});
    }
    if (keys.empty()) break;
    Result<std::vector<LockView>> some = co_await views_of(std::move(keys), deadline);
    if (!some) co_return some.error();
    for (LockView& view : *some) {
      if (!view.holders.empty() || !view.waiters.empty()) views.push_back(std::move(view));
    }
  }
  co_return views;
}

awaitable<Result<bool>> Majority::check(LockKey key, Token token, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster);
  const Words words{key_of(cluster->config(), key), std::to_string(token.epoch()), std::to_string(token.counter())};
  cluster->ask_all(scripts().check, words, deadline,
                   [question](std::size_t node, const Result<Reply>& answer) { question->count_number(node, answer); });
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() == Poll::Verdict::yes) co_return true;
  if (question->verdict() == Poll::Verdict::no) co_return false;
  co_return too_few_answers();
}

awaitable<Result<bool>> Majority::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster);
  const Cluster::Hear hear = [question](std::size_t node, const Result<Reply>& answer) {
    question->count_number(node, answer);
  };
  if (now) {
    Claim taken{claim, {}, key};
    taken.lease = tombstone_life;
    release_all(taken, nullptr, Release(), hear, {});
  } else {
    const Words words{to_string(claim), key_of(cluster->config(), key)};
    cluster->ask_all(scripts().revoke, words, deadline, hear);
  }
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() == Poll::Verdict::yes) co_return true;
  if (question->verdict() == Poll::Verdict::no) co_return false;
  co_return Error{Errc::outcome_unknown, "too few nodes have answered"};
}

}  // namespace pawl::store::redlock
