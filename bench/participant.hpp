#pragma once

#include <cstdint>
#include <memory>
#include <string>

/// One side of a benchmark, as a program that is told what to do line by line: see bench/README.md.
namespace pawl::bench {

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
std::int64_t now();

/// One client's lock. Errors are thrown.
class Lock {
 public:
  virtual ~Lock() = default;
  /// False: not before `until`.
  virtual bool acquire(std::int64_t until) = 0;
  virtual void release() = 0;
};

class Participant {
 public:
  virtual ~Participant() = default;
  /// Connects so many clients.
  virtual void open(const std::string& url, const std::string& scheme, int clients) = 0;
  /// Whatever must be there before the first of all processes asks for it.
  virtual void prepare(const std::string& name) { (void)name; }
  virtual std::unique_ptr<Lock> lock(const std::string& name, int client) = 0;
  /// As a thread of a process that has one client.
  virtual std::unique_ptr<Lock> lock_of_thread(const std::string& name, int thread) = 0;
};

/// Until standard input ends, or "quit". Answers the exit code.
int serve(Participant& participant);

}  // namespace pawl::bench
