#pragma once

#include "tests/simulation/nemesis.hpp"
#include "tests/simulation/operator.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace pawl::test {

/// One simulated world from its first step to its verdict.
class Play {
 public:
  Play(std::uint64_t seed, const Playing& how) : stage_(seed, how) {}

  Outcome run();

 private:
  bool over();
  bool run_until(const std::function<bool()>& done, Duration within);
  void drop_curtain();
  bool everybody_done() const;
  void check_nothing_is_left(bool anchored);
  void question_observers();
  bool everybody_closed() const;
  Outcome verdict();

  Stage stage_;
  Cast cast_{stage_};
  Nemesis nemesis_{stage_, cast_};
  Operator operator_{stage_};
};

}  // namespace pawl::test
