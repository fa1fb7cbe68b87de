#pragma once

#include <string>

namespace pawl::cli {

/// What systemd is told of us where it asks for that (NOTIFY_SOCKET, as with Type=notify): what we wait for, and that the
/// command has begun under the lock. Must be used by the process that systemd has started: it heeds no other.
class ServiceManager {
 public:
  /// Takes NOTIFY_SOCKET out of the environment, so that the command does not find it: pawl is the one to say READY=1. It
  /// is left where another process is meant: a script of a service, or one that a shell in a service has started.
  ServiceManager();

  void waiting(const std::string& what) const { tell("STATUS=waiting for " + what); }
  void ready(const std::string& what) const { tell("READY=1\nSTATUS=running under " + what); }

 private:
  void tell(const std::string& message) const;

  std::string socket_;  // a path, or @ and a name that is none; empty: nobody asks
};

}  // namespace pawl::cli
