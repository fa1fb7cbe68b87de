#include "tests/simulation/stage.hpp"

#include <utility>

namespace pawl::test {

namespace {

Script make_script(std::uint64_t seed, const Cuts& cuts, const PlayedStore& store) {
  Script script = Dice(seed, "script").script(store);
  script.leave_out(cuts);
  return script;
}

}  // namespace

Stage::Stage(std::uint64_t with_seed, const Playing& how)
    : seed(with_seed),
      cuts(how.cuts),
      world(seed),
      server(world.add_process()),
      first_store(how.store(world, server)),
      script(make_script(seed, cuts, *first_store)),
      stores([&] {
        Monitor::Stores all = {first_store};
        while (all.size() < script.stores) all.push_back(how.store(world, server));
        return all;
      }()),
      monitor(world, stores, how.tells) {
  parts = script.parts();
  world.after_step = [this] { monitor.look(); };
  if (script.quiet) monitor.fair_from(world.now());
}

bool Stage::leaves_out(std::string part) {
  if (cuts.has(part)) return true;
  parts.push_back(std::move(part));
  return false;
}

void Stage::heal() {
  monitor.note("good weather from now on");
  healed = true;
  if (!script.quiet) monitor.fair_from(world.now() + longest_delay);
}

}  // namespace pawl::test
