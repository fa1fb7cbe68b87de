#pragma once

#include <pawl/client.hpp>
#include <pawl/options.hpp>
#include <pawl/sequencer.hpp>

#include <memory>
#include <string_view>

namespace pawl {

/// A store for your own tests: in memory, with a clock that stands still until you move it. What happens to a lock once
/// in a year happens on command: a lease runs out, a session ends, a lock is taken away, a grant comes late.
///
///   pawl::TestStore store;
///   pawl::Client client = store.client();
///   Worker worker(client);          // holds client.mutex("job")
///   store.lose("job");              // its lost() has fired when this returns
///   EXPECT_TRUE(worker.stopped());
///
/// Promise: when a call returns, everything that it brings about inside pawl has happened; callbacks of lost() and of
///          observers have returned.
/// Limit:   threads of yours that were woken may still be about to run. Clients must not be used after the store is gone.
/// Threads: one at a time; clients as usual.
class TestStore {
 public:
  TestStore();
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  /// Another client, as if in another process.
  Client client(ClientOptions options = {});

  /// Lets that much time pass, step by step: whatever falls due on the way happens at its own time. (Every renewal is a
  /// step: a day with a lease of 3 s takes seconds.)
  void advance(Duration time);
  /// As if the client had been paused for longer than its lease: the store does not know its sessions any more. The
  /// client learns of it when it asks next, at the latest when it renews, a third of the lease later.
  void expire(const Client& client);
  /// Takes the lock from all who hold it now, as `pawl revoke --now` does.
  void lose(std::string_view name, Kind kind = Kind::mutex);
  /// Asks all who hold it now to let go, as `pawl revoke` does: release_requested() fires.
  void ask_to_release(std::string_view name, Kind kind = Kind::mutex);
  /// Nobody is granted that lock for so long.
  void delay_grants(std::string_view name, Duration time, Kind kind = Kind::mutex);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl
