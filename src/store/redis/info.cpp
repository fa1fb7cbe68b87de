#include "store/redis/info.hpp"

#include "store/redis/reply.hpp"

#include <charconv>

namespace pawl::store::redis {

namespace {

/// "run_id" of "...\r\nrun_id:8a7f\r\n...".
std::string field(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t found = info.find(start);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + start.size();
  return std::string(info.substr(begin, info.find_first_of("\r\n", begin) - begin));
}

}  // namespace

Result<Life> life_of(std::string_view info) {
  if (field(info, "cluster_enabled") == "1") {
    return Error{Errc::unsupported, "the server is part of a cluster, which pawl does not support"};
  }
  if (field(info, "loading") == "1") {
    return Error{Errc::store_unavailable, "the server is still loading its data"};
  }
  if (field(info, "role") == "slave") {
    return Error{Errc::store_unavailable, std::string(replica_sentence)};
  }
  const std::string run_id = field(info, "run_id");
  const std::string replication_id = field(info, "master_replid");
  if (run_id.empty() && replication_id.empty()) {
    return Error{Errc::unsupported, "the server does not tell its run_id: its lives cannot be told apart"};
  }
  return run_id + ":" + replication_id;
}

std::optional<Upstream> upstream_of(std::string_view info) {
  if (field(info, "role") != "slave" || field(info, "master_link_status") != "up") return std::nullopt;
  Upstream upstream;
  upstream.host = field(info, "master_host");
  const std::string port = field(info, "master_port");
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), upstream.port);
  const bool whole = error == std::errc{} && end == port.data() + port.size();
  if (upstream.host.empty() || !whole || upstream.port == 0) return std::nullopt;
  return upstream;
}

std::string dangerous_policy(std::string_view info) {
  const std::string policy = field(info, "maxmemory_policy");
  const std::string memory = field(info, "maxmemory");
  return !memory.empty() && memory != "0" && policy != "noeviction" ? policy : "";
}

}  // namespace pawl::store::redis
