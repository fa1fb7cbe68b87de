#pragma once

#include "base/runtime.hpp"
#include "store/file/environment.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::store::file {

/// What a runtime hears from a folder: letters, the deaths of processes that it waits behind, and that it was deleted or
/// replaced.
/// Threads: on the executor only, destruction aside.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  static Result<std::shared_ptr<Listener>> open(std::shared_ptr<Environment> environment, base::Runtime& runtime);
  Listener(std::shared_ptr<Environment> environment, base::Runtime& runtime, std::uint64_t number);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  std::uint64_t mailbox() const { return number_; }
  /// That claim waits just behind these processes: the death of one frees what it held at once, and the claim looks
  /// again. A process is watched once, however many wait behind it, and until it dies.
  void watch(const std::set<ProcessKey>& processes, ClaimId claim);
  /// The claim does not wait any more.
  void forget(ClaimId claim) { behind_.erase(claim); }

  /// A tenth of a second from now, what happened before is noticed, and from then on, at once, that the folder was deleted
  /// or replaced, as far as inotify can be had. Not sooner: to close an inotify instance takes the kernel 15 ms, several
  /// times as long as all that a short `pawl run` does.
  using Call = std::function<void()>;
  void watch_folder();
  /// Calls that on the executor then, as long as it lives.
  void when_gone(std::weak_ptr<const Call> call) { when_gone_.push_back(std::move(call)); }

 private:
  using Descriptor = base::asio::posix::stream_descriptor;

  Result<void> listen();
  void wait_for_mail();
  void read_mail();
  void watch(ProcessKey process);
  void wait_for_death(ProcessKey process, Descriptor& descriptor);
  void died(ProcessKey process);
  awaitable<void> bury(ProcessKey process);
  static awaitable<void> watch_folder_soon(std::weak_ptr<Listener> weak, base::Runtime& runtime);
  void watch_folder_now();
  void wait_for_folder();
  void look_at_folder();

  const std::shared_ptr<Environment> environment_;
  base::Runtime& runtime_;
  const std::uint64_t number_;
  const std::string name_;
  std::unique_ptr<Descriptor> mailbox_;
  std::map<ProcessKey, std::unique_ptr<Descriptor>> watched_;
  std::unordered_map<ClaimId, std::set<ProcessKey>> behind_;
  std::uint32_t lost_letters_ = 0;
  bool will_watch_folder_ = false;
  std::unique_ptr<Descriptor> folder_watch_;
  std::vector<std::weak_ptr<const Call>> when_gone_;
};

}  // namespace pawl::store::file
