#include "store/answered.hpp"

#include "base/escaped.hpp"

namespace pawl::store {

Error broken_off() {
  try {
    Error refused = base::refused_by_system();
    refused.code = Errc::outcome_unknown;
    return refused;
  } catch (...) {
    base::report_escaped("a call of the store");
    return {Errc::outcome_unknown, "the call of the store has broken off"};
  }
}

}  // namespace pawl::store
