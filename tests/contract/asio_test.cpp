// Promise: every wait works with Asio's completion tokens; a cancellation gives up, and no hold is ever lost on the way.

#include "tests/contract/contract.hpp"

#include <pawl/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace pawl::contract {

namespace asio = boost::asio;
using asio::use_awaitable;

class AsioFace : public Contract {
 protected:
  template <class Face = Mutex>
  static Face face(const Actor& actor, Kind kind = Kind::mutex, std::string_view name = "job") {
    return lock::Access::make<Face>(actor.lock(kind, name));
  }

  /// Runs a user's coroutine on a user's io_context, to its end.
  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(work), [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    io_.restart();
    io_.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(world().hang()));
    if (!result) throw std::runtime_error("it hangs");
    return std::move(*result);
  }

  asio::io_context io_;
};
INSTANTIATE_TEST_SUITE_P(Schemes, AsioFace, ::testing::ValuesIn(blocking_schemes()), line_name);

namespace {

// Written as users write it: options in braces inside the co_await expression, which GCC 12 gets wrong for aggregates
// that have a destructor.
asio::awaitable<std::string> use_a_mutex(Mutex mutex) {
  const std::string text = "a label that is longer than any small string is allowed to be";
  // trivially destructible
  Result<Hold> hold = co_await async_acquire(mutex, {.wait = 60s, .label = text}, use_awaitable);
  if (!hold) co_return hold.error().to_string();
  // trivially destructible
  Result<Hold> second = co_await async_acquire(mutex, {.wait = 0s, .label = "x"}, use_awaitable);
  if (second.code() != Errc::busy) co_return "granted twice";
  Result<void> released = co_await async_release(*hold, use_awaitable);
  if (!released) co_return released.error().to_string();
  // trivially destructible
  Result<Hold> third = co_await async_acquire(mutex, {}, use_awaitable);
  co_return third ? "well" : third.error().to_string();
}

asio::awaitable<std::string> use_a_shared_mutex(SharedMutex mutex) {
  // trivially destructible
  Result<Hold> writer = co_await async_acquire(mutex, {.wait = 60s}, use_awaitable);
  if (!writer) co_return writer.error().to_string();
  Result<void> downgraded = co_await async_downgrade(*writer, use_awaitable);
  if (!downgraded) co_return downgraded.error().to_string();
  // trivially destructible
  Result<Hold> reader = co_await async_acquire_shared(mutex, {.wait = 60s}, use_awaitable);
  co_return reader ? "well" : reader.error().to_string();
}

asio::awaitable<std::string> use_a_semaphore(Semaphore semaphore) {
  // trivially destructible
  Result<Hold> two = co_await async_acquire(semaphore, 2, {.wait = 60s}, use_awaitable);
  if (!two || two->permits() != 2) co_return "two permits";
  // trivially destructible
  Result<Hold> one = co_await async_acquire(semaphore, {.wait = 0s}, use_awaitable);
  if (!one) co_return one.error().to_string();
  // trivially destructible
  Result<Hold> none = co_await async_acquire(semaphore, {.wait = 0s}, use_awaitable);
  co_return none.code() == Errc::busy ? "well" : "four of three";
}

asio::awaitable<std::string> use_several(MultiLock locks) {
  // trivially destructible
  Result<MultiHold> all = co_await async_acquire(locks, {.wait = 60s, .label = "both"}, use_awaitable);
  if (!all) co_return all.error().to_string();
  if (all->size() != 2) co_return "not both";
  Result<void> released = co_await async_release(*all, use_awaitable);
  co_return released ? "well" : released.error().to_string();
}

asio::awaitable<std::string> use_an_election(Election election) {
  Observation observation = election.observe();
  Result<std::optional<Leader>> nobody = co_await async_next(observation, 60s, use_awaitable);
  if (!nobody || *nobody) co_return "somebody leads";
  // trivially destructible
  Result<Hold> office = co_await async_campaign(election, "us", {.wait = 60s}, use_awaitable);
  if (!office) co_return office.error().to_string();
  Result<std::optional<Leader>> us = co_await async_next(observation, 60s, use_awaitable);
  if (!us || !*us || (*us)->value != "us") co_return "somebody else leads";
  Result<void> resigned = co_await async_release(*office, use_awaitable);
  co_return resigned ? "well" : resigned.error().to_string();
}

asio::awaitable<bool> resumes_on(asio::io_context& io, Mutex mutex) {
  // trivially destructible
  Result<Hold> hold = co_await async_acquire(mutex, {.wait = 60s}, use_awaitable);
  const bool here = io.get_executor().running_in_this_thread();
  co_return hold&& here;
}

}  // namespace

TEST_P(AsioFace, ACoroutineAcquiresAndReleases) { EXPECT_EQ(run(use_a_mutex(face(world().client()))), "well"); }

TEST_P(AsioFace, ACoroutineSharesAndDowngrades) {
  PAWL_NEEDS(shared_mode);
  EXPECT_EQ(run(use_a_shared_mutex(face<SharedMutex>(world().client(), Kind::rw))), "well");
}

TEST_P(AsioFace, ACoroutineTakesPermits) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client();
  EXPECT_EQ(run(use_a_semaphore(lock::Access::make<Semaphore>(alice.lock(Kind::permits, "job"), 3U))), "well");
}

TEST_P(AsioFace, ACoroutineTakesSeveral) {
  const Actor alice = world().client();
  EXPECT_EQ(run(use_several(MultiLock{face(alice), face(alice, Kind::mutex, "other")})), "well");
}

TEST_P(AsioFace, ACoroutineCampaignsAndObserves) {
  PAWL_NEEDS(election);
  EXPECT_EQ(run(use_an_election(face<Election>(world().client(), Kind::election))), "well");
}

TEST_P(AsioFace, TheHandlerRunsOnItsOwnExecutor) { EXPECT_TRUE(run(resumes_on(io_, face(world().client())))); }

TEST_P(AsioFace, ACallbackWithoutAnExecutorRunsOnTheNotifierThread) {
  const Actor alice = world().client();
  std::promise<std::pair<Errc, std::thread::id>> told;
  async_acquire(face(alice), {.wait = 60s}, [&](Result<Hold> hold) {
    told.set_value({hold.code(), std::this_thread::get_id()});
  });
  const auto [code, thread] = told.get_future().get();
  EXPECT_EQ(code, no_error);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_P(AsioFace, AFutureHoldsTheHold) {
  const Actor alice = world().client();
  std::future<Result<Hold>> future = async_acquire(face(alice), {.wait = 60s}, asio::use_future);
  Result<Hold> hold = future.get();
  ASSERT_TRUE(hold);
  EXPECT_TRUE(async_release(*hold, asio::use_future).get());
  EXPECT_EQ(async_release(*hold, asio::use_future).get().code(), Errc::not_owner);
  Hold empty;
  EXPECT_EQ(async_release(empty, asio::use_future).get().code(), Errc::not_owner);
}

TEST_P(AsioFace, TextInTheOptionsIsCopiedBeforeTheCallReturns) {
  const Actor alice = world().client();
  std::future<Result<Hold>> future;
  {
    std::string label = "a label that is longer than any small string is allowed to be";
    auto deferred = async_acquire(face(alice), {.wait = 60s, .label = label}, asio::use_future);
    label.assign(label.size(), '?');
    future = std::move(deferred);
  }
  const Hold hold = future.get().value();
  EXPECT_EQ(world().view("job").holders.at(0).owner.label,
            "a label that is longer than any small string is allowed to be");
}

TEST_P(AsioFace, ACancellationGivesUpAndLeavesNothing) {
  const Actor alice = world().client(), bob = world().client();
  const Hold held = must_acquire(alice, "job");
  asio::cancellation_signal cancel;
  std::promise<Errc> told;
  async_acquire(face(bob), {},
                asio::bind_cancellation_slot(
                    cancel.slot(), asio::bind_executor(io_, [&](Result<Hold> hold) { told.set_value(hold.code()); })));
  ASSERT_TRUE(world().queued("job", 1));
  cancel.emit(asio::cancellation_type::terminal);
  io_.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(world().hang()));
  EXPECT_EQ(told.get_future().get(), Errc::cancelled);
  EXPECT_TRUE(world().ask_until([&] { return world().view("job").waiters.empty(); }));
}

TEST_P(AsioFace, AHoldThatNobodyTakesIsReleased) {
  const Actor alice = world().client(), bob = world().client();
  {
    asio::io_context never_run;
    async_acquire(face(alice), {}, asio::bind_executor(never_run, [](const Result<Hold>&) {}));
    ASSERT_TRUE(world().ask_until([&] { return !world().view("job").holders.empty(); }));
    world().sleep(a_moment());
  }
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
}

TEST_P(AsioFace, TheExecutorStaysBusyUntilTheHandlerHasRun) {
  const Actor alice = world().client(), bob = world().client();
  Hold held = must_acquire(alice, "job");
  bool granted = false;
  async_acquire(face(bob), {}, asio::bind_executor(io_, [&](const Result<Hold>& hold) { granted = hold.has_value(); }));
  std::jthread releaser([&] {
    ASSERT_TRUE(world().queued("job", 1));
    EXPECT_TRUE(held.release());
  });
  io_.run();  // without work it would return at once
  EXPECT_TRUE(granted);
}

TEST_P(AsioFace, WhatIsWrongIsToldToTheHandler) {
  const Actor alice = world().client();
  EXPECT_EQ(async_acquire(face(alice), {.wait = -1s}, asio::use_future).get().code(), Errc::invalid_argument);
  EXPECT_EQ(async_acquire(MultiLock(), {}, asio::use_future).get().code(), Errc::invalid_argument);
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(async_acquire(face(world().client()), {}, asio::use_future).get().code(), no_error);
}

TEST_P(AsioFace, AHandlerThatIsKeptIsNotMovedFrom) {
  const Actor alice = world().client();
  const auto told = std::make_shared<std::promise<void>>();
  auto kept = [told, calls = std::make_shared<std::atomic<int>>(0)](const Result<Hold>&) {
    if (++*calls == 2) told->set_value();
  };
  async_acquire(face(alice), {.wait = 0s}, kept);
  async_acquire(face(alice, Kind::mutex, "other"), {.wait = 0s}, kept);
  EXPECT_EQ(told->get_future().wait_for(world().hang()), std::future_status::ready);
}

}  // namespace pawl::contract
