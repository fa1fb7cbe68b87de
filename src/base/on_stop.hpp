#pragma once

#include "base/runtime.hpp"

#include <boost/asio/post.hpp>

#include <functional>
#include <stop_token>
#include <utility>

namespace pawl::base {

/// Has something done on the executor when a stop is asked for, by whichever thread: that one only posts it.
/// Limit: what it does must keep alive what it needs; it may be done after this object is gone.
class OnStop {
 public:
  OnStop(Runtime& runtime, const std::stop_token& stop, std::function<void()> act)
      : callback_(stop, [executor = runtime.executor(), act = std::move(act)] { boost::asio::post(executor, act); }) {}

 private:
  std::stop_callback<std::function<void()>> callback_;
};

}  // namespace pawl::base
