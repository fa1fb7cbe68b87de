#include "apps/cli/bench/floors.hpp"

namespace pawl::cli {

namespace {

const std::vector<Floor>& floors() {
  static const std::vector<Floor> table = {
#ifdef PAWL_STORE_FILE
      {"file", "two LMDB write transactions", make_lmdb_step},
#endif
  };
  return table;
}

}  // namespace

const Floor* floor_of(std::string_view store) {
  for (const Floor& floor : floors()) {
    if (floor.store == store) return &floor;
  }
  return nullptr;
}

}  // namespace pawl::cli
