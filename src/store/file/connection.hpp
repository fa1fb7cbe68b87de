#pragma once

#include "base/runtime.hpp"
#include "store/file/environment.hpp"
#include "store/file/listener.hpp"
#include "store/file/visit.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::store::file {

/// A client's way to its folder, shared by the store and its scheme.
/// Threads: on the executor only.
class Connection {
 public:
  Connection(FolderOptions options, base::Runtime& runtime) : options_(std::move(options)), runtime_(runtime) {}

  /// What to call when the folder was deleted or replaced: all sessions in it are lost.
  void attach(std::function<void()> sessions_in_doubt);
  /// Opens the folder, if it is not open, or was deleted since.
  awaitable<Result<void>> connect(Deadline deadline);
  /// Null before connect(), and when the folder was found deleted.
  const std::shared_ptr<Environment>& environment() const { return environment_; }
  Listener& listener() { return *listener_; }
  base::Runtime& runtime() { return runtime_; }
  std::uint64_t store_id() const { return store_id_; }

  template <class T>
  using Work = std::function<Result<T>(Tables&)>;

  /// One transaction, if it can be done at once. Nothing: visit() must do it.
  template <class T, class Call>
  std::optional<Result<T>> visit_now(const Call& call) {
    if (!environment_) return std::nullopt;
    std::optional<Result<T>> answer;
    const auto run = [&answer, &call](Tables& tables) { answer.emplace(call(tables)); };
    const auto attempt = environment_->attempt(run, runtime_, short_sleep);
    if (attempt.end != Environment::Attempt::End::done) return std::nullopt;
    tidy_up(environment_, runtime_);
    return answer;
  }

  /// One transaction. Errors: as file::visit(); `lost` also when the folder is not open (any more).
  template <class T>
  awaitable<Result<T>> visit(Work<T> work, Deadline deadline) {
    const auto environment = environment_;
    if (!environment) co_return gone();
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    const Environment::Work run = [answer, work](Tables& tables) { answer->emplace(work(tables)); };
    Result<void> visited = co_await file::visit(environment, runtime_, run, deadline);
    if (visited.code() == Errc::lost) leave(*environment);
    if (!visited) co_return visited.error();
    co_return std::move(**answer);
  }

  /// Forgets a folder that was deleted; looks at the path first if that is asked for. True: it is gone.
  bool leave_if_gone();
  Error gone() const;

 private:
  void leave(const Environment& gone_one);

  const FolderOptions options_;
  base::Runtime& runtime_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<const std::function<void()>> sessions_in_doubt_;
  Time not_before_ = Time::min();            // whoever deletes the folder may not have finished
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
};

}  // namespace pawl::store::file
