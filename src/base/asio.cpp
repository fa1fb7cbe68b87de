// Asio's own code, once, because of BOOST_ASIO_SEPARATE_COMPILATION.

#include "base/registrations.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace pawl::base {

namespace {

thread_local int refused = 0;

}  // namespace

int take_refused_registration() { return std::exchange(refused, 0); }

int epoll_ctl_for_asio(int set, int operation, int descriptor, epoll_event* event) {
  const int result = ::epoll_ctl(set, operation, descriptor, event);
  if (result != 0 && operation == EPOLL_CTL_ADD) refused = errno;
  return result;
}

}  // namespace pawl::base

#define epoll_ctl ::pawl::base::epoll_ctl_for_asio
#include <boost/asio/impl/src.hpp>
#undef epoll_ctl
#ifdef PAWL_NET
#include <boost/asio/ssl/impl/src.hpp>
#endif
