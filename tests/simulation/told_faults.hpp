#pragma once

#include "tests/simulation/monitor.hpp"
#include "tests/support/faults.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace pawl::test {

/// What happens to the requests and notices of one connection, for the story and the monitor.
class ToldFaults final : public FaultPlan {
 public:
  /// `latency`: what every request and every answer takes, and is not worth telling.
  ToldFaults(std::shared_ptr<RandomFaults> faults, Duration latency, Monitor& monitor, const base::SimProcess& process,
             std::size_t store, std::string name)
      : faults_(std::move(faults)),
        latency_(latency),
        monitor_(monitor),
        process_(process),
        store_(store),
        name_(std::move(name)) {}

  RequestFault next(Operation operation) override;
  NoticeFault next_notice(const store::Notice& notice) override;

 private:
  const std::shared_ptr<RandomFaults> faults_;
  const Duration latency_;
  Monitor& monitor_;
  const base::SimProcess& process_;
  const std::size_t store_;
  const std::string name_;
  std::uint64_t requests_ = 0;
};

}  // namespace pawl::test
