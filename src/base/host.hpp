#pragma once

#include <pawl/lock_view.hpp>

namespace pawl::base {

/// Host and pid, for operators.
Owner this_process();

}  // namespace pawl::base
