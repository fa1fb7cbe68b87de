#include "tests/support/threads.hpp"

#include "base/real_runtime.hpp"
#include "lock/client_core.hpp"
#include "lock/lock_core.hpp"
#include "store/registry.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using base::awaitable;
using base::RealRuntime;
using test::eventually;

/// A client in the process-wide runtime, by its coroutine form.
std::shared_ptr<lock::ClientCore> open(std::string_view text) {
  RealRuntime& runtime = RealRuntime::process_wide();
  const base::Url url = base::Url::parse(text).value();
  auto store = store::open_store(url, runtime).value();
  const ClientOptions options;
  return lock::make_handle(lock::ClientCore::make(runtime, std::move(store), options).value());
}

awaitable<void> hold_until_the_end(std::shared_ptr<lock::LockCore> mutex, std::vector<Hold>& holds,
                                   std::atomic<int>& granted) {
  const AcquireOptions options;
  Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
  if (!hold) co_return;
  holds.push_back(std::move(*hold));  // on the executor only
  ++granted;
}

/// The locks of one client, held or waited for by coroutines.
class Crowd {
 public:
  explicit Crowd(std::string_view url) : client_(open(url)) {}

  void ask_for(int from, int to) {
    for (int i = from; i < to; ++i) {
      auto mutex = lock::ClientCore::mutex(client_, "job " + std::to_string(i), {}).value();
      base::spawn(RealRuntime::process_wide(), hold_until_the_end(std::move(mutex), holds_, granted_));
    }
  }
  int granted() const { return granted_; }
  std::uint64_t asked() const { return client_->context().telemetry.store_claims; }
  void release_all() {
    std::promise<std::vector<Hold>> holds;
    RealRuntime::process_wide().send([&] { holds.set_value(std::exchange(holds_, {})); });
    holds.get_future().get().clear();
  }

 private:
  std::shared_ptr<lock::ClientCore> client_;
  std::vector<Hold> holds_;
  std::atomic<int> granted_ = 0;
};

TEST(ThreadsTest, TenThousandWaitingClaimsNeedNoMoreThreadsThanOne) {
  constexpr int many = 10'000;
  Crowd holders("memory:threads"), waiters("memory:threads");
  holders.ask_for(0, many);
  ASSERT_TRUE(eventually([&] { return holders.granted() == many; }));
  waiters.ask_for(0, 1);
  ASSERT_TRUE(eventually([&] { return waiters.asked() == 1; }));
  const std::size_t with_one = test::threads_seen().size();
  waiters.ask_for(1, many);
  ASSERT_TRUE(eventually([&] { return waiters.asked() == many; }));
  EXPECT_LE(test::threads_seen().size(), with_one);
  EXPECT_EQ(waiters.granted(), 0);
  holders.release_all();
  EXPECT_TRUE(eventually([&] { return waiters.granted() == many; }));
  EXPECT_LE(test::threads_seen().size(), with_one);
  waiters.release_all();
}

TEST(ThreadsTest, ManyClientsShareTheThreadsOfTheProcess) {
  Client first("memory:");
  ASSERT_TRUE(first.mutex("job").acquire());
  const std::size_t with_one = test::threads_seen().size();
  std::vector<Client> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back("memory:");
    ASSERT_TRUE(clients.back().mutex("job").acquire());
  }
  EXPECT_LE(test::threads_seen().size(), with_one);
}

}  // namespace
}  // namespace pawl
