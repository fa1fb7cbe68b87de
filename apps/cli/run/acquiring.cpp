#include "apps/cli/run/acquiring.hpp"

#include "apps/cli/run/other_kinds.hpp"
#include "apps/cli/run/terms.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"
#include "base/duration.hpp"
#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "lock/access.hpp"
#include "lock/client_core.hpp"

#include <pawl/observer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

void warn_of_memory(const Context& context) {
  if (!context.store().value_or("").starts_with("memory:")) return;
  fmt::print(stderr, "pawl: a memory: store is seen by this process alone: the lock excludes no other run\n");
}

}  // namespace

Acquiring::Acquiring(const UnderLockOptions& options, const Context& context, const Errand& errand, RunLog& log,
                     pid_t job)
    : options_(options),
      context_(context),
      errand_(errand),
      log_(log),
      job_(job),
      limit_(limit_of(options, context)),
      wait_until_(wait_until(options)),
      label_(label_of(options, context)),
      waiting_([this](const auto& asking, std::stop_token stop) { work_through_outages(asking, std::move(stop)); },
               [this](std::optional<int> signal) { return abandon(signal); }) {
  log_.asked();
}

/// Connected in time, or a Failure that says why not.
Client Acquiring::open() const {
  ClientOptions options;
  options.scheme = options_.scheme;
  if (options_.verbose) {
    options.observer = [talk = talk_](const pawl::Event& event) {
      if (!event.message.empty()) talk->say(event.message);
    };
  }
  if (!limit_.opened_by) return open_client(context_, std::move(options));
  options.connect = Connect::lazy;
  Client client = open_client(context_, std::move(options));
  base::RealRuntime& runtime = base::RealRuntime::process_wide();
  // A little earlier: so the reason is told, and not only that there is no answer.
  const Duration left = std::max<Duration>((*limit_.opened_by - std::chrono::steady_clock::now()) * 9 / 10, 0s);
  value_or_fail(runtime.block_on(lock::Access::core(client)->connect(base::Deadline::in(runtime.now(), left))));
  return client;
}

AcquireOptions Acquiring::wish() const {
  AcquireOptions wish;
  if (wait_until_) wish.wait = std::max<Duration>(*wait_until_ - std::chrono::steady_clock::now(), 0s);
  if (options_.no_wait) wish.wait = 0s;
  wish.lease = options_.lease;
  wish.lock_delay = lock_delay_of(options_, context_);
  wish.max_hold = options_.max_hold;
  wish.label = label_;
  return wish;
}

void Acquiring::work(const std::function<void()>& asking, std::stop_token stop) {
  warn_of_memory(context_);
  Client& client = client_.emplace(open());
  if (options_.verbose) talk_->say("the store is " + base::redact_url(store_of(context_)));
  if (!options_.any_kind) refuse_other_kinds(client, errand_.wanted);
  const AcquireOptions wish = this->wish();
  wait_ = wish.wait.value_or(0s);
  asking();
  if (!options_.quiet && !options_.no_wait) {
    const bool counts = lock::Access::core(client)->capabilities().counts_to_inspect;
    line_.emplace(client, WaitingLine::Wait{errand_.wanted, wait_until_, job_, !options_.code_of_not_acquired, counts},
                  *talk_);
  }
  held_ = errand_.acquire(client, wish, std::move(stop));
  if (line_) line_->finish(held_.has_value());
  if (!held_) {
    // Here, and not at the end of the process: whoever waits for us gives up in time if the store does not answer.
    refusal_ = refusal();
    line_.reset();
    client_.reset();
    return;
  }
  // Again, now that others can see us: of two runs that begin at the same time one sees the other, or both do.
  if (options_.any_kind) return;
  try {
    refuse_other_kinds(client, errand_.wanted);
  } catch (const Failure&) {
    [[maybe_unused]] const auto released = held_->release();
    throw;
  }
}

Failure Acquiring::refusal() const {
  Failure failure = failure_of(held_.error());
  if (failure.code != not_acquired) return failure;
  // The library tells of what was left for it.
  const std::string within = "within " + base::format_duration(wait_);
  if (const std::size_t at = failure.sentence.find(within); options_.wait && at != std::string::npos) {
    failure.sentence.replace(at, within.size(), "within " + base::format_duration(*options_.wait));
  }
  for (const Wanted& wanted : errand_.wanted) {
    const Result<LockView> view = Client(*client_).inspect(wanted.name, wanted.kind);
    if (!view || !view->holders.empty() || view->shut_for <= 0s) continue;
    failure.sentence = fmt::format("{} is shut for another {}: its last holder has failed, and had a lock-delay",
                                   in_quotes(wanted.name), format_age(view->shut_for));
  }
  return failure;
}

Failure Acquiring::refused(Failure failure) {
  log_.refused(failure.sentence);
  return failure;
}

Failure Acquiring::ended_by(int signal) const {
  return {by_signal + signal, fmt::format("{} while waiting for {}", signal_name(signal), errand_.awaited)};
}

int Acquiring::abandon(std::optional<int> signal) {
  const Failure failure = refused(signal ? ended_by(*signal) : Failure{store_failure, limit_.sentence});
  fmt::print(stderr, "pawl: {}\n", failure.sentence);
  return failure.code;
}

/// What opening the store or a second look has thrown is a refusal as well.
std::optional<int> Acquiring::wait(const std::function<std::optional<int>()>& finish) {
  try {
    return finish();
  } catch (const Failure& failure) {
    log_.refused(failure.sentence);
    throw;
  } catch (const std::exception& error) {
    log_.refused(error.what());
    throw;
  }
}

Held Acquiring::finish(const Signals& signals, const Front& front) {
  return result(wait([&] { return waiting_.finish(signals, front, limit_); }));
}

Held Acquiring::finish(const Signals& signals, int output) {
  return result(wait([&] { return waiting_.finish(signals, output, limit_); }));
}

Held Acquiring::result(std::optional<int> signal) {
  if (signal) throw refused(ended_by(*signal));
  if (held_) {
    Held held = std::move(*held_);
    log_.granted(held.sequencers().front().token);
    if (options_.verbose) talk_->say("granted, token " + held.sequencers().front().token.to_string());
    return held;
  }
  const bool too_late = waiting_.late() && held_.code() == Errc::cancelled;
  Failure failure = refused(too_late ? Failure{store_failure, limit_.sentence} : refusal_);
  if (failure.code == not_acquired && options_.code_of_not_acquired) {
    failure = {*options_.code_of_not_acquired, options_.verbose ? failure.sentence : ""};
  }
  throw failure;
}

}  // namespace pawl::cli
