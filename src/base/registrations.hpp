#pragma once

namespace pawl::base {

/// The errno of an epoll registration that Asio was refused on this thread since this was asked last; 0: none. Where the one
/// is refused by which a thread in the kernel is woken, Asio says nothing, and would hang later.
int take_refused_registration();

}  // namespace pawl::base
