#pragma once

#include <pawl/lock_view.hpp>

#include <cstdint>

namespace pawl::base {

/// Host and pid, for operators.
Owner this_process();

/// From now on clients of this process show that pid to operators: of the process that they know, where this one does its
/// work. Before any thread is started.
void speak_for(std::int64_t pid);

}  // namespace pawl::base
