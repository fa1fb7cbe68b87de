#pragma once

#include "base/runtime.hpp"

#include <pawl/result.hpp>

#include <utility>

namespace pawl::store {

/// In a catch (...): the answer of a call that threw. Out of memory ends the process.
Error broken_off();

/// The answer of a store's call, also where it throws because the system has refused it a thread or a descriptor:
/// `outcome_unknown`, because nobody can tell how far it had come. So whoever waits for the answer goes on as after any lost one.
template <class T>
base::awaitable<Result<T>> answered(base::awaitable<Result<T>> call) {
  try {
    Result<T> answer = co_await std::move(call);
    co_return answer;
  } catch (...) {
    co_return broken_off();
  }
}

/// The same for a call that answers here and now, or not at all.
template <class Call>
auto answered_now(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (...) {
    return broken_off();
  }
}

}  // namespace pawl::store
