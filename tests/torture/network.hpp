#pragma once

#include "apps/cli/torture/faults.hpp"
#include "tests/support/proxy.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace pawl::torture {

/// A proxy between each worker and each server. It knows no protocol, and what it does to bytes is what networks do.
class Network {
 public:
  Network(std::size_t places, const std::vector<std::uint16_t>& servers, Milliseconds lease);

  /// By which ports a worker reaches the servers.
  std::vector<std::uint16_t> ports(std::size_t place) const;
  /// Each of them concerns the way of one worker, or those of all.
  std::vector<Fault> faults();

 private:
  using Proxies = std::list<test::Proxy>;
  using Do = std::function<void(test::Proxy&)>;

  Fault fault(const std::string& name, std::vector<Do> steps);
  Fault dying();
  std::vector<test::Proxy*> some(Chance& chance);

  std::vector<Proxies> ways_;  // by place
  const Milliseconds lease_;
};

}  // namespace pawl::torture
