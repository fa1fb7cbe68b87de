#include "store/redlock/question.hpp"

namespace pawl::store::redlock {

void Answers::heard(std::size_t node) {
  heard_[node] = true;
  wakeup_.notify();
}

// A node that has failed is silent as well, and is not waited for.
bool Answers::waits_in_vain(const Cluster& cluster) const {
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    if (!heard_[i] && !cluster.is_silent(i)) return false;
  }
  return true;
}

void Question::yes(std::size_t node) {
  poll_.yes();
  heard(node);
}

void Question::no(std::size_t node) {
  poll_.no();
  heard(node);
}

void Question::failed(std::size_t node) {
  poll_.failed();
  heard(node);
}

void Question::count_number(std::size_t node, const Result<Reply>& answer) {
  if (!answer) return failed(node);
  answer->number() == 1 ? yes(node) : no(node);
}

bool Question::decided() const {
  if (poll_.pending() == 0) return true;
  return until_ == Until::decided && poll_.verdict() != Poll::Verdict::open;
}

awaitable<void> Answers::wait(std::shared_ptr<Answers> answers, std::shared_ptr<Cluster> cluster, Deadline deadline) {
  base::Runtime& runtime = cluster->runtime();
  const base::Time patient_until = cluster->node_deadline(deadline).at;
  while (!answers->decided() && !deadline.passed(runtime.now())) {
    if (runtime.now() >= patient_until && answers->waits_in_vain(*cluster)) co_return;
    co_await answers->wakeup_.wait(cluster->node_deadline(deadline).at);
  }
}

}  // namespace pawl::store::redlock
