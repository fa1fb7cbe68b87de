#include "store/redlock/question.hpp"

namespace pawl::store::redlock {

void Question::yes() {
  poll_.yes();
  wakeup_.notify();
}

void Question::no() {
  poll_.no();
  wakeup_.notify();
}

void Question::failed() {
  poll_.failed();
  wakeup_.notify();
}

void Question::count_number(const Result<Reply>& answer) {
  if (!answer) return failed();
  answer->number() == 1 ? yes() : no();
}

bool Question::decided() const {
  if (poll_.pending() == 0) return true;
  return until_ == Until::decided && poll_.verdict() != Poll::Verdict::open;
}

awaitable<void> Answers::wait(std::shared_ptr<Answers> answers, std::shared_ptr<Cluster> cluster, Deadline deadline) {
  base::Runtime& runtime = cluster->runtime();
  const base::Time patient_until = cluster->node_deadline(deadline).at;
  while (!answers->decided() && !deadline.passed(runtime.now())) {
    const bool in_vain = runtime.now() >= patient_until && answers->poll_.pending() <= cluster->silent_nodes();
    if (in_vain) co_return;
    co_await answers->wakeup_.wait(cluster->node_deadline(deadline).at);
  }
}

}  // namespace pawl::store::redlock
