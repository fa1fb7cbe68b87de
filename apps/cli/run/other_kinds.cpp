#include "apps/cli/run/other_kinds.hpp"

#include "base/lock_name.hpp"
#include "lock/other_kinds.hpp"

namespace pawl::cli {

void refuse_other_kinds(Client& client, const std::vector<Wanted>& all) {
  for (const Wanted& wanted : all) {
    const Result<std::vector<LockView>> others = client.other_kinds(wanted.name, wanted.kind);
    if (!others || others->empty()) continue;
    const store::LockKey key{wanted.kind, base::LockName::make(wanted.name).value()};
    throw Failure{own_failure, lock::describe_other_kinds(key, *others) +
                                   "; use the same kind of lock everywhere, or --any-kind to go on"};
  }
}

}  // namespace pawl::cli
