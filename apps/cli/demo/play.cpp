#include "apps/cli/demo/play.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <utility>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

/// If nobody overtakes a stopped holder by then, it was stopped inside a transaction of the store: let it go on.
constexpr auto patience = demo_lease + 4s;

template <class To, class From>
To cast(From duration) {
  return std::chrono::duration_cast<To>(duration);
}

}  // namespace

Play::Play(Crew& crew, int workers, std::chrono::milliseconds time, Tell tell)
    : crew_(crew), time_(time), tell_(std::move(tell)) {
  for (int i = 1; i <= workers; ++i) crew_.start("w" + std::to_string(i));
}

std::chrono::milliseconds Play::elapsed() const { return cast<std::chrono::milliseconds>(Clock::now() - began_); }

bool Play::after(double share) const { return elapsed() >= share * time_; }

void Play::begin(Act act) {
  act_ = act;
  act_began_ = Clock::now();
}

void Play::begin_with(Act act, std::size_t number) {
  begin(act);
  victims_token_.clear();
  victim_ = crew_.members()[number].get();
  Crew::order(*victim_, "pause");
}

bool Play::go_on() {
  if (act_ == Act::work && after(0.25)) {
    begin_with(Act::kill, 1);
  } else if (act_ == Act::rest && after(0.5)) {
    begin_with(Act::stop, 2);
  } else if (act_ == Act::overtake && Clock::now() - act_began_ > patience) {
    tell_(fmt::format("{} was stopped inside a transaction of the store, which all others wait for: once more",
                      victim_->name));
    wake();
  }
  // A play that hangs is over as well; the table will tell what is missing.
  return !(act_ == Act::finish && after(1)) && crew_.working() && !after(4);
}

void Play::heard(const Report& report) {
  switch (report.what) {
    case Report::What::wrote: return wrote(report);
    case Report::What::paused: return paused(report);
    case Report::What::refused:
      tell_(fmt::format("{} went on and wrote: refused by the fence, it was overtaken", report.member->name));
      if (act_ == Act::refuse) begin(Act::finish);
      return;
    case Report::What::trouble: return tell_(fmt::format("{}: {}", report.member->name, report.sentence));
  }
}

void Play::paused(const Report& report) {
  Member& victim = *report.member;
  victim.disturbed = true;
  victims_token_ = report.token;
  if (act_ == Act::kill) {
    Crew::signal(victim, SIGKILL);
    tell_(fmt::format("{} holds the lock: killed with -9; {}b comes in its place", victim.name, victim.name));
    begin(Act::recover);
    crew_.start(victim.name + "b").disturbed = true;
  } else if (act_ == Act::stop) {
    Crew::signal(victim, SIGSTOP);
    tell_(fmt::format("{} holds the lock and is about to write: stopped", victim.name));
    begin(Act::overtake);
  }
}

void Play::wrote(const Report& report) {
  token_ = std::max(token_, report.token);
  expected_ += report.amount;
  const bool overtaken = !victims_token_.empty() && report.token > victims_token_;
  if (act_ == Act::recover && overtaken) {
    recovery_ = cast<std::chrono::microseconds>(Clock::now() - act_began_);
    begin(Act::rest);
  } else if (act_ == Act::overtake && overtaken) {
    tell_(fmt::format("the lease of {} is over and {} has written: {} goes on", victim_->name, report.member->name,
                      victim_->name));
    wake();
  } else if (act_ == Act::refuse && report.member == victim_) {
    begin_with(Act::stop, 2);  // it was in time after all: once more
  }
}

void Play::wake() {
  stopped_for_ = cast<std::chrono::milliseconds>(Clock::now() - act_began_);
  Crew::order(*victim_, "go");
  Crew::signal(*victim_, SIGCONT);
  begin(Act::refuse);
}

}  // namespace pawl::cli
