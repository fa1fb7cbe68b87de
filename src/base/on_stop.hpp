#pragma once

#include "base/runtime.hpp"

#include <boost/asio/post.hpp>

#include <functional>
#include <stop_token>
#include <utility>

namespace pawl::base {

/// Has something done on the executor when a stop is asked for, by whichever thread: that one only posts it. Nothing is done
/// in a child of fork(), where the executor is the parent's.
/// Limit: what it does must keep alive what it needs; it may be done after this object is gone.
class OnStop {
 public:
  OnStop(Runtime& runtime, const std::stop_token& stop, std::function<void()> act)
      : callback_(stop, [&runtime, act = std::move(act)] {
          if (!runtime.inert()) boost::asio::post(runtime.executor(), act);
        }) {}

 private:
  std::stop_callback<std::function<void()>> callback_;
};

}  // namespace pawl::base
