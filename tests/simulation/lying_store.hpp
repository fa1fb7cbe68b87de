#pragma once

#include "base/planted.hpp"
#include "store/store.hpp"

#include <memory>

namespace pawl::test {

/// Any store, which lies while one of the bugs `store_...` is planted: whether the simulation looks at what stores do, too.
std::shared_ptr<store::Store> make_lying_store(std::shared_ptr<store::Store> inner);

}  // namespace pawl::test
