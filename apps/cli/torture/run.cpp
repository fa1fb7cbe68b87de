#include "apps/cli/torture/run.hpp"

#include "apps/cli/torture/worker.hpp"

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

namespace pawl::torture {

using namespace std::chrono_literals;

namespace {

/// For the workers to come to their end: a hang guard.
constexpr auto patience = 900s;

void nap() { std::this_thread::sleep_for(2ms); }

std::vector<Fault> worker_faults(Crew& crew) {
  const auto now_and_then = [](const char* name, auto&& what) {
    return Fault{name, "", [what](Chance& chance) {
                   what(chance);
                   return Fault::Steps{};
                 }};
  };
  const Fault stopped = now_and_then("worker stopped", [&crew](Chance& chance) { crew.stop_one(chance); });
  const Fault killed = now_and_then("worker killed", [&crew](Chance& chance) { crew.kill_one(chance); });
  return {stopped, stopped, killed};
}

/// Until the time is over, and, within reason, until each sort of fault has been there.
void torment(const Plan& plan, Crew& crew, Faults& workers, Faults& world) {
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] { return std::chrono::steady_clock::now() - begin; };
  while (passed() < plan.time || (!(workers.all_seen() && world.all_seen()) && passed() < 10 * plan.time)) {
    crew.tend();
    workers.tick();
    world.tick();
    nap();
  }
  world.end_all();
}

void wait_for_the_end(Crew& crew) {
  for (const auto end = std::chrono::steady_clock::now() + patience;
       crew.working() && std::chrono::steady_clock::now() < end; nap())
    crew.tend();
}

/// Takes and releases each lock: who comes next sweeps what the dead have left.
std::vector<std::string> look_at_the_store(Client& client, const Plan& plan) {
  std::vector<std::string> left;
  for (const LockSpec& lock : plan.crew.orders.locks()) {
    Result<Hold> hold = acquire(client, lock, Mode::exclusive, std::max(lock.permits, 1u), {.wait = 2s});
    const Result<void> released = hold ? hold->release() : Result<void>(hold.error());
    if (!released) left.push_back(lock.name + ": " + released.error().to_string());
  }
  const Result<std::vector<LockView>> views = client.list("torture-" + plan.crew.orders.run);
  if (!views) left.push_back(views.error().to_string());
  for (const LockView& view : views.value_or(std::vector<LockView>{})) left.push_back("the lock " + view.name);
  return left;
}

/// With a client of its own each time, whose end belongs to what is looked at.
std::vector<std::string> look_once(const Plan& plan) try {
  Client client(plan.url, {.scheme = plan.crew.orders.scheme, .lease = plan.crew.orders.lease});
  std::vector<std::string> left = look_at_the_store(client, plan);
  const Result<void> closed = client.close();
  if (!closed) left.push_back(closed.error().to_string());
  return left;
} catch (const Exception& error) {
  return {error.what()};
}

std::vector<std::string> what_is_left(const Plan& plan) {
  std::vector<std::string> left = look_once(plan);
  if (left.empty() && plan.leftovers) left = plan.leftovers();
  return left;
}

}  // namespace

Outcome play(const Plan& plan) {
  Outcome outcome;
  const Orders& orders = plan.crew.orders;
  orders.folder.make();
  std::vector<std::string> accidents;
  Expected expected{.forgets = orders.forgets};
  for (const LockSpec& lock : orders.locks()) expected.locks.push_back(lock.name);
  {
    Crew crew(plan.crew, plan.seed);
    // Servers and network need time to be well again, or nobody ever holds anything.
    Faults workers(worker_faults(crew), plan.seed + 1, orders.lease, orders.lease / 2);
    Faults world(plan.faults, plan.seed + 2, orders.lease, orders.lease * 3 / 2);
    torment(plan, crew, workers, world);
    expected.workers = crew.names();
    std::ofstream(orders.folder.calm()) << "\n";
    wait_for_the_end(crew);
    outcome.faults = workers.counts();
    outcome.faults.insert(world.counts().begin(), world.counts().end());
    outcome.faults["worker paused between look and write"] = crew.pauses();
    accidents = crew.accidents();
  }
  outcome.history = read_history(orders.folder);
  outcome.complaints = judge(outcome.history, expected);
  for (const std::string& accident : accidents) outcome.complaints.push_back({"worker", accident});
  for (Complaint& complaint : look_for_leftovers(plan)) outcome.complaints.push_back(std::move(complaint));
  return outcome;
}

std::vector<Complaint> look_for_leftovers(const Plan& plan, Milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> left = what_is_left(plan);
  for (; !left.empty() && std::chrono::steady_clock::now() < end; left = what_is_left(plan))
    std::this_thread::sleep_for(100ms);
  std::vector<Complaint> complaints;
  complaints.reserve(left.size());
  for (const std::string& one : left) complaints.push_back({"left", one});
  return complaints;
}

std::vector<Kind> kinds_of(Client& client, const std::string& run) {
  std::vector<Kind> kinds;
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::permits}) {
    try {
      acquire(client, {"torture-" + run + "-try", kind, 3}, Mode::exclusive, 1, {.wait = 5s}).value().release().value();
      kinds.push_back(kind);
    } catch (const Exception& error) {
      if (error.errc() != Errc::unsupported) throw;
    }
  }
  return kinds;
}

}  // namespace pawl::torture
