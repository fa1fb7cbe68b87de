#include "apps/cli/run/other_kinds.hpp"

#include "apps/cli/views.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace pawl::cli {

namespace {

std::string_view with_article(Kind kind) {
  switch (kind) {
    case Kind::mutex: return "a mutex";
    case Kind::rw: return "a rw lock";
    case Kind::permits: return "a semaphore";
    case Kind::election: return "an election";
  }
  return "another lock";
}

}  // namespace

void warn_of_other_kinds(Client& client, const std::string& name, Kind kind) {
  std::vector<std::string_view> others;
  for (const Kind other : all_kinds) {
    if (other == kind) continue;
    const Result<LockView> view = client.inspect(name, other);
    if (!view && view.code() != Errc::unsupported) return;  // the wait itself will tell what is wrong
    if (view && in_use(*view)) others.push_back(with_article(other));
  }
  if (others.empty()) return;
  const char* who = kind == Kind::election ? "election" : "run";
  fmt::print(stderr, "pawl: {} is also in use as {} (another kind, another lock): this {} does not exclude {}\n",
             in_quotes(name), fmt::join(others, " and "), who, others.size() == 1 ? "it" : "them");
}

}  // namespace pawl::cli
