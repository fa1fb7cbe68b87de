#pragma once

#include "base/real_runtime.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <utility>

/// Work on a real runtime, for a test that has none of it in its own thread.
namespace pawl::test {

template <class T>
base::awaitable<void> keep(base::awaitable<Result<T>> work, std::promise<Result<T>> promise) {
  Result<T> result = co_await std::move(work);
  promise.set_value(std::move(result));
}

template <class T>
std::future<Result<T>> begin(base::Runtime& runtime, base::awaitable<Result<T>> work) {
  std::promise<Result<T>> promise;
  std::future<Result<T>> result = promise.get_future();
  base::spawn(runtime, keep(std::move(work), std::move(promise)));
  return result;
}

template <class T>
Result<T> take(std::future<Result<T>>& begun) {
  if (begun.wait_for(std::chrono::minutes(1)) == std::future_status::ready) return begun.get();
  return Error{Errc::timed_out, "the test hangs"};
}

inline void on_executor(base::Runtime& runtime, const std::function<void()>& work) {
  std::promise<void> done;
  runtime.send([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace pawl::test
