#pragma once

#include <pawl/error.hpp>

#include <exception>

namespace pawl::base {

/// What is done with an exception that leaves code of ours which must not throw. Out of memory ends the process, at once and
/// with a sentence: nobody can tell what was left undone, and a hang or a false success would be worse.

/// In a catch (...): logs what escaped from `where`, and goes on.
void report_escaped(const char* where) noexcept;
/// In a catch (...): where the system has refused a thread, a descriptor or the like, the error for the caller. Anything else is
/// thrown again.
Error refused_by_system();
/// Hands it to the caller of ours who waits for the outcome.
[[noreturn]] void rethrow_escaped(const std::exception_ptr& error);

}  // namespace pawl::base
