#pragma once

#include <pawl/sequencer.hpp>

#include <string>

namespace pawl::cli {

/// One of the things to be held.
struct Wanted {
  Kind kind = Kind::mutex;
  std::string name = {};
};

}  // namespace pawl::cli
