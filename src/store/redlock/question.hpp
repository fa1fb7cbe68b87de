#pragma once

#include "base/wakeup.hpp"
#include "store/redlock/cluster.hpp"
#include "store/redlock/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pawl::store::redlock {

/// Answers of all nodes to one question, as they come in. Shared with the answers that come late.
class Answers {
 public:
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  virtual ~Answers() = default;

  const Poll& poll() const { return poll_; }
  Poll::Verdict verdict() const { return poll_.verdict(); }

  /// Until it is decided, or until those who have not answered have not answered anything for a while.
  static awaitable<void> wait(std::shared_ptr<Answers> answers, std::shared_ptr<Cluster> cluster, Deadline deadline);

 protected:
  explicit Answers(Cluster& cluster) : poll_(cluster.size()), wakeup_(cluster.runtime()), heard_(cluster.size()) {}

  /// That node has answered, or will not.
  void heard(std::size_t node);

  /// No other answer can change what follows.
  virtual bool decided() const = 0;

  Poll poll_;
  base::Wakeup wakeup_;

 private:
  bool waits_in_vain(const Cluster& cluster) const;

  std::vector<bool> heard_;  // by node
};

/// Where nothing but the number of answers matters.
class Question final : public Answers {
 public:
  enum class Until : std::uint8_t {
    decided,   ///< a majority has said the same
    answered,  ///< every node has answered, or is silent
  };

  explicit Question(Cluster& cluster, Until until = Until::decided) : Answers(cluster), until_(until) {}

  void yes(std::size_t node);
  void no(std::size_t node);
  void failed(std::size_t node);
  /// Yes: there was an answer, whatever it says.
  void count(std::size_t node, const Result<Reply>& answer) { answer ? yes(node) : failed(node); }
  /// Yes: the answer is 1.
  void count_number(std::size_t node, const Result<Reply>& answer);

 private:
  bool decided() const override;

  const Until until_;
};

/// What was asked was not done, and will not be.
inline bool nothing_was_done(const Result<Reply>& answer) { return answer.code() == Errc::store_unavailable; }

/// Too few nodes have answered a question that changes nothing.
inline Error too_few_answers() { return {Errc::store_unavailable, "too few nodes have answered"}; }

}  // namespace pawl::store::redlock
