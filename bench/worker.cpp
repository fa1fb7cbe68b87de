// pawl itself, on any store: a participant of every benchmark here.

#include "bench/participant.hpp"

#include <pawl/pawl.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::bench {

namespace {

class PawlLock final : public Lock {
 public:
  explicit PawlLock(Mutex mutex) : mutex_(std::move(mutex)) {}

  bool acquire(std::int64_t until) override {
    const std::int64_t left = until - now();
    if (left <= 0) return false;
    Result<Hold> hold = mutex_.acquire({.wait = std::chrono::nanoseconds(left)});
    if (hold.code() == Errc::timed_out) return false;
    hold_ = std::move(hold).value();
    return true;
  }
  void release() override { hold_.release().value(); }

 private:
  Mutex mutex_;
  Hold hold_;
};

class Pawl final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int clients) override {
    clients_.clear();
    scheme_ = scheme;
    for (int i = 0; i < clients; ++i) clients_.emplace_back(url);
  }
  /// Also connects, and founds a cluster of Redlock's.
  void prepare(const std::string& name) override {
    const auto first = lock(name, 0);
    if (first->acquire(now() + 60'000'000'000)) first->release();
  }
  std::unique_ptr<Lock> lock(const std::string& name, int client) override {
    return std::make_unique<PawlLock>(clients_.at(static_cast<std::size_t>(client)).mutex(name, {.scheme = scheme_}));
  }
  std::unique_ptr<Lock> lock_of_thread(const std::string& name, int) override { return lock(name, 0); }

 private:
  std::string scheme_;
  std::vector<Client> clients_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  pawl::bench::Pawl pawl;
  return pawl::bench::serve(pawl);
}
