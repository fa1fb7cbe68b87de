#pragma once

#include <cstdint>
#include <functional>
#include <thread>

namespace pawl::base {

/// A thread of ours: named, and deaf to all signals, which belong to the program.
/// Throws std::system_error where the system has no thread left.
std::thread start_thread(const char* name, std::function<void()> work);

/// A processor is given to this thread later than to normal threads of the process: it must not do the work of others.
/// `normal_nice`: what is usual here. Cheap: looks at the kernel ten times a second at the most.
bool this_thread_is_weak(int normal_nice);
int this_thread_nice();

/// Numbers threads from 1; a number is never used again (a std::thread::id is).
std::uint64_t this_thread_number();

/// How often this process has been forked off. Grows in the child only.
std::uint64_t fork_generation();

}  // namespace pawl::base
