#pragma once

#include "tests/simulation/oracle.hpp"

#include <pawl/observer.hpp>

#include <map>
#include <string>
#include <tuple>

namespace pawl::test {

/// What the observer of one client was told. A complaint says what was promised and not kept:
///   - jeopardy and its end are told in turn, and nothing is told of a hold whose end was told;
///   - nothing is told after close().
class Witness {
 public:
  Complaint told(const Event& event);
  void closed() { closed_ = true; }

 private:
  enum class State { begun, safe, jeopardy, over };  // it may begin in jeopardy
  std::map<std::tuple<Kind, std::string, Token>, State> holds_;
  bool closed_ = false;
};

}  // namespace pawl::test
