#pragma once

#include <pawl/error.hpp>

#include <exception>
#include <new>

namespace pawl::base {

/// What is done with an exception that leaves code of ours which must not throw. Out of memory ends the process, at once and
/// with a sentence: nobody can tell what was left undone, and a hang or a false success would be worse.

/// In a catch (...): logs what escaped from `where`, and goes on.
void report_escaped(const char* where) noexcept;
/// In a catch (...): where the system has refused a thread, a descriptor or the like, the error for the caller. Anything else is
/// thrown again.
Error refused_by_system();
/// Ends the process with a sentence.
[[noreturn]] void out_of_memory() noexcept;
/// Runs what must not stop half-way for want of memory: a lock would be left behind that nobody releases.
template <class Work>
auto or_out_of_memory(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    out_of_memory();
  }
}
/// Hands it to the caller of ours who waits for the outcome.
[[noreturn]] void rethrow_escaped(const std::exception_ptr& error);

}  // namespace pawl::base
