// How a claim leaves the nodes: released, undone, or with its session. Each node is told until it has confirmed it, or until
// what is there has ended by itself.

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/majority.hpp"
#include "store/redlock/scripts.hpp"

#include <memory>
#include <utility>

namespace pawl::store::redlock {

namespace {

/// What the nodes have said to a withdrawal: whether the claim was there.
class Leaving final : public Answers {
 public:
  explicit Leaving(Cluster& cluster)
      : Answers(cluster), majority_(cluster.majority()), cluster_(cluster.weak_from_this()) {}

  void hear(std::size_t node, const Result<Reply>& answer) {
    if (!answer) {
      poll_.failed();
      unknown_ = unknown_ || !nothing_was_done(answer);
    } else if (answer->number() == 1) {
      poll_.yes();
    } else if (const auto cluster = cluster_.lock(); cluster && cluster->votes(node)) {
      poll_.no();
    } else {
      // It may have had the claim before it lost its data. Nobody is granted anything there meanwhile.
      poll_.failed();
      ++forgot_;
    }
    heard(node);
  }
  void hear_nothing_there(std::size_t node) {
    poll_.no();
    heard(node);
  }
  Result<Withdrawn> outcome() const {
    if (poll_.answered() + forgot_ < majority_) {
      const bool nothing = !unknown_ && poll_.pending() == 0 && poll_.answered() == 0;
      return Error{nothing ? Errc::store_unavailable : Errc::outcome_unknown,
                   "too few nodes have answered to the withdrawal"};
    }
    const bool was_there = poll_.agreed() > 0 && poll_.agreed() + poll_.silent() >= majority_;
    return was_there ? Withdrawn::done : Withdrawn::not_there;
  }

 private:
  /// It is gone from a majority, and it is known whether it was there on one.
  bool decided() const override {
    if (poll_.pending() == 0 || poll_.agreed() >= majority_) return true;
    return poll_.answered() + forgot_ >= majority_ && poll_.agreed() + poll_.pending() < majority_;
  }

  const std::size_t majority_;
  const std::weak_ptr<Cluster> cluster_;  // answers may come later
  std::size_t forgot_ = 0;                // nodes that have lost their data
  bool unknown_ = false;                  // a node may have done it
};

}  // namespace

// Without an entry nothing is known of the claim's requests.
void Majority::release_all(const Claim& claim, const Entry* entry, Release how, const Cluster::Hear& hear,
                           const std::function<void(std::size_t node)>& nothing_is_there) {
  const bool unknown = entry == nullptr || entry->asking;
  if (unknown) how.unsettled = Unsettled::over_any_link();
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    Release here = how;
    if (!unknown) {
      const Trace& trace = (*entry->traces)[i];
      if (trace.left() == Trace::Left::nothing) {
        nothing_is_there(i);
        continue;
      }
      here.unsettled.add(trace.unsettled());
    }
    cluster_->release(i, claim, here, hear);
  }
}

awaitable<Result<Withdrawn>> Majority::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const auto cluster = cluster_;
  SharedEntry entry;
  if (const auto found = entries_.find(claim.id); found != entries_.end()) {
    entry = found->second;
    entries_.erase(found);
    entry->held = false;
  }
  const bool unsettled = how.unsettled || !entry || entry->asking;
  if (unsettled) gone_[claim.id] = base::after(cluster->runtime().now(), tombstone_life);
  Result<void> up = co_await cluster->connect(deadline);
  if (!up && !entry) co_return up.error();
  const auto leaving = std::make_shared<Leaving>(*cluster);
  const Cluster::Hear hear = [leaving](std::size_t node, const Result<Reply>& answer) { leaving->hear(node, answer); };
  Release release;
  release.lock_delay = how.ending == Ending::failed ? claim.lock_delay : Duration::zero();
  release_all(claim, unsettled ? nullptr : entry.get(), release, hear,
              [leaving](std::size_t node) { leaving->hear_nothing_there(node); });
  co_await Answers::wait(leaving, cluster, deadline);
  co_return leaving->outcome();
}

awaitable<Result<void>> Majority::close_session(SessionId session, Deadline deadline) {
  const auto cluster = cluster_;
  sessions_.erase(session);
  std::vector<SharedEntry> ended;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool of_it = entry->second->claim.session == session;
    if (of_it) ended.push_back(entry->second);
    entry = of_it ? entries_.erase(entry) : std::next(entry);
  }
  if (ended.empty()) co_return Result<void>();
  const auto question = std::make_shared<Question>(*cluster);
  // A node has closed it when it has answered for each of its claims.
  const auto left = std::make_shared<std::vector<std::size_t>>(cluster->size(), ended.size());
  const auto one_less = [question, left](std::size_t node) {
    if (--(*left)[node] == 0) question->yes(node);
  };
  const Cluster::Hear hear = [one_less](std::size_t node, const Result<Reply>& answer) {
    if (answer) one_less(node);
  };
  for (const SharedEntry& entry : ended) {
    Release release;
    release.lock_delay = entry->held ? entry->claim.lock_delay : Duration::zero();
    release_all(entry->claim, entry.get(), release, hear, one_less);
    entry->held = false;
  }
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() == Poll::Verdict::yes) co_return Result<void>();
  co_return Error{Errc::outcome_unknown, "too few nodes have confirmed the end of the session"};
}

}  // namespace pawl::store::redlock
