#pragma once

#include "tests/interop/neighbour.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Other people's Redlocks, each on all of the servers.
namespace pawl::test {

class RedlockNeighbour : public Neighbour {
 public:
  explicit RedlockNeighbour(std::vector<std::uint16_t> ports) : ports_(std::move(ports)) {}
  Peer* peer() { return Neighbour::peer(ports_.front()); }

 protected:
  std::unique_ptr<Peer> start_with(std::vector<std::string> command, const std::string& log) const {
    for (const std::uint16_t port : ports_) command.push_back(std::to_string(port));
    return std::make_unique<Peer>(command, folder() + "/" + log + ".log");
  }

 private:
  const std::vector<std::uint16_t> ports_;
};

/// Go's redsync.
class Redsync final : public RedlockNeighbour {
 public:
  using RedlockNeighbour::RedlockNeighbour;

 private:
  std::unique_ptr<Peer> start(std::uint16_t) override {
    if (auto tool = missing({"go", "timeout"})) return cannot(*tool + " is not installed");
    const std::string at = folder() + "/redsync_lock";
    if (std::optional<std::string> failed = build_go("tests/interop/redsync", at)) return cannot(*failed);
    return start_with({at}, "redsync");
  }
};

/// npm's redlock: `module` is redlock, which is version 4, or redlock-5, its beta version.
class NpmRedlock final : public RedlockNeighbour {
 public:
  NpmRedlock(std::vector<std::uint16_t> ports, std::string module)
      : RedlockNeighbour(std::move(ports)), module_(std::move(module)) {}

 private:
  std::unique_ptr<Peer> start(std::uint16_t) override {
    if (auto tool = missing({"node", "npm", "timeout"})) return cannot(*tool + " is not installed");
    const std::string source = "tests/interop/npm_redlock", at = folder() + "/npm_redlock";
    const std::vector<std::string> files{"package.json", "package-lock.json", "redlock_lock.js"};
    // A program finds its packages beside itself.
    std::string command = "mkdir -p '" + at + "' && cd '" PAWL_SOURCE "/" + source + "' && cp";
    for (const std::string& file : files) command += " " + file;
    command += " '" + at + "' && cd '" + at + "' && node --check redlock_lock.js";
    command += " && npm ci --ignore-scripts --no-audit --no-fund";
    const Recipe recipe{
        .tool = "npm", .source = source, .files = files, .at = at, .command = command, .mistake = "SyntaxError"};
    if (std::optional<std::string> failed = build(recipe)) return cannot(*failed);
    return start_with({"node", at + "/redlock_lock.js", module_}, module_);
  }

  const std::string module_;
};

}  // namespace pawl::test
