#include "tests/support/redis_server.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace pawl::test {

RedisServer::RedisServer(std::vector<std::string> options, std::vector<std::string> wrapper)
    : options_(std::move(options)), wrapper_(std::move(wrapper)) {
  start();
}

void RedisServer::start() {
  std::vector<std::string> command = wrapper_;
  const std::vector<std::string> server{
      "redis-server", "--port", std::to_string(port()), "--bind", "127.0.0.1", "--dir", folder_.path(),
      "--save",       "",       "--daemonize",          "no"};
  command.insert(command.end(), server.begin(), server.end());
  command.insert(command.end(), options_.begin(), options_.end());
  process_.start(command, folder_.path(), [this] { return answers(port(), "PING\r\n"); });
}

std::string RedisServer::url(const std::string& query) const {
  return "redis://127.0.0.1:" + std::to_string(port()) + "/0" + query;
}

std::string RedisServer::cli(const std::vector<std::string>& words) const {
  std::string command = "redis-cli -p " + std::to_string(port());
  for (const std::string& word : words) command += " '" + word + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), ::pclose);
  if (!pipe) throw std::runtime_error("redis-cli cannot be run");
  std::string out;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    out.append(buffer.data(), size);
  }
  return out;
}

RedisServer& RedisServer::shared() {
  static RedisServer server;
  return server;
}

RedisServers::RedisServers(std::size_t count, const std::vector<std::string>& options) {
  for (std::size_t i = 0; i < count; ++i) servers_.push_back(std::make_unique<RedisServer>(options));
}

void RedisServers::add(const std::vector<std::string>& options, const std::vector<std::string>& wrapper) {
  servers_.push_back(std::make_unique<RedisServer>(options, wrapper));
}

std::vector<std::uint16_t> RedisServers::ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& server : servers_) ports.push_back(server->port());
  return ports;
}

std::string RedisServers::url(const std::string& query) const {
  std::string url = "redlock://";
  for (const auto& server : servers_) {
    if (server != servers_.front()) url += ",";
    url += "127.0.0.1:" + std::to_string(server->port());
  }
  return url + query;
}

RedisServers& RedisServers::shared() {
  static RedisServers servers(5);
  return servers;
}

}  // namespace pawl::test
