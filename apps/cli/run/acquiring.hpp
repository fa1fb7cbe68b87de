#pragma once

#include "apps/cli/run/front.hpp"
#include "apps/cli/run/held.hpp"
#include "apps/cli/run/run_log.hpp"
#include "apps/cli/run/talk.hpp"
#include "apps/cli/run/under_lock.hpp"
#include "apps/cli/run/waiting.hpp"
#include "apps/cli/run/waiting_line.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

namespace pawl::cli {

/// Opens the store and waits for the locks, on a thread of its own, while a person sees what it waits for.
class Acquiring {
 public:
  /// `job`: the process that the user knows.
  Acquiring(const UnderLockOptions& options, const Context& context, const Errand& errand, RunLog& log, pid_t job);
  Acquiring(const Acquiring&) = delete;
  Acquiring& operator=(const Acquiring&) = delete;

  /// What is held: not longer than this lives. Throws Failure. In a keeper:
  Held finish(const Signals& signals, const Front& front);
  /// Elsewhere: gives up when nobody reads any more what is written to `output`.
  Held finish(const Signals& signals, int output);

 private:
  void work(const std::function<void()>& asking, std::stop_token stop);
  /// The same; with --monitor-retry again while the store is out of reach.
  void work_through_outages(const std::function<void()>& asking, std::stop_token stop);
  Client open() const;
  AcquireOptions wish() const;
  /// Writes it to the log.
  Failure refused(Failure failure);
  Failure ended_by(int signal) const;
  int abandon(std::optional<int> signal);
  std::optional<int> wait(const std::function<std::optional<int>()>& finish);
  Held result(std::optional<int> signal);
  /// Why the locks were not granted.
  Failure refusal() const;

  const UnderLockOptions& options_;
  const Context& context_;
  const Errand& errand_;
  RunLog& log_;
  const pid_t job_;
  const Waiting::Limit limit_;
  const std::optional<std::chrono::steady_clock::time_point> wait_until_;
  const std::string label_;
  const std::shared_ptr<Talk> talk_ = std::make_shared<Talk>();  // the client's observer has it, too
  std::optional<Client> client_;
  std::optional<WaitingLine> line_;
  Duration wait_ = {};  // what was left of --wait after connecting
  Result<Held> held_ = Held();
  Failure refusal_;  // if it is not held
  Waiting waiting_;  // last: its thread uses all others
};

}  // namespace pawl::cli
