#pragma once

#include <cstdint>
#include <functional>
#include <thread>

namespace pawl::base {

/// A thread of ours: named, and deaf to all signals, which belong to the program.
std::thread start_thread(const char* name, std::function<void()> work);

/// Numbers threads from 1; a number is never used again (a std::thread::id is).
std::uint64_t this_thread_number();

/// How often this process has been forked off. Grows in the child only.
std::uint64_t fork_generation();

}  // namespace pawl::base
