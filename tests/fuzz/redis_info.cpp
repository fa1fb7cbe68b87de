// What a Redis server says of itself.

#include "store/redis/info.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace pawl::fuzz::redis_info {

using namespace store::redis;

void run(std::string_view input) {
  const auto life = life_of(input);
  const auto upstream = upstream_of(input);
  if (life) {
    must(life->size() > 1 && life->find('\n') == std::string::npos, "a life is one line");
    must(!upstream, "a server that takes locks has no master");
  } else {
    must(life.code() == Errc::unsupported || life.code() == Errc::store_unavailable, "a server that cannot is told");
  }
  if (upstream) must(!upstream->host.empty() && upstream->port != 0, "a master has an address");
  must(dangerous_policy(input).find('\n') == std::string::npos, "a policy is one word");
}

}  // namespace pawl::fuzz::redis_info

PAWL_FUZZ_TARGET(redis_info, pawl::fuzz::redis_info::run);
