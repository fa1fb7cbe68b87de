#include "store/store.hpp"

namespace pawl::store {

namespace {

Error no_epoch() { return {Errc::unsupported, "this store cannot tell or raise its epoch"}; }

}  // namespace

awaitable<Result<std::uint64_t>> Store::epoch(Deadline) { co_return no_epoch(); }

awaitable<Result<std::uint64_t>> Store::raise_epoch(Deadline) { co_return no_epoch(); }

awaitable<Result<std::string>> Store::apply_schema(Deadline) {
  co_return Error{Errc::unsupported, "this store has no tables to make: it needs no schema"};
}

}  // namespace pawl::store
