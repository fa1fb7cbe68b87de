#pragma once

#include "session/context.hpp"
#include "session/validity.hpp"

#include <pawl/hold.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::local {

using base::Runtime;
using base::Time;

/// One local holder of a lock: a token of its own, valid as long as the remote claim's lease is, and no longer than its
/// own max_hold.
///
/// | state    | let_go()  | lease over, max_hold, taken away |
/// |----------|-----------|----------------------------------|
/// | held     | released  | lost; `on_lost` is called        |
/// | released | false     | -                                |
/// | lost     | false     | -                                |
///
/// Threads: all. lost() fires on the thread of the callbacks.
class LocalHold final : public std::enable_shared_from_this<LocalHold>, private session::Validity::Watcher {
 public:
  struct Terms {
    store::LockKey key;
    Token token = {};
    Mode mode = Mode::exclusive;
    std::vector<std::uint32_t> slots = {};
    std::optional<Duration> max_hold = {};
    std::string label = {};
  };

  LocalHold(std::shared_ptr<session::Context> context, std::shared_ptr<session::Validity> validity, Terms terms);
  ~LocalHold();

  /// Begins to watch the deadline. `on_lost` is called once, on a thread of the notifier: when lost() has fired, or
  /// `longest_callback` after the loss if callbacks take longer. From the loss until then `owner` is kept alive, also when
  /// whoever hears of the loss throws the hold away.
  static constexpr Duration longest_callback = std::chrono::seconds(1);
  void start(std::weak_ptr<void> owner, std::function<void(const std::shared_ptr<LocalHold>&)> on_lost);

  const Token& token() const { return terms_.token; }
  Mode mode() const { return mode_.load(); }
  /// It was to be downgraded: whoever has it is a reader from now on, whatever becomes of that.
  void share() { mode_ = Mode::shared; }
  const std::vector<std::uint32_t>& slots() const { return terms_.slots; }
  const std::string& label() const { return terms_.label; }
  std::stop_token lost() const { return lost_.get_token(); }
  std::stop_token release_requested() const { return release_requested_.get_token(); }

  Duration remaining() const { return remaining(runtime_.now()); }
  Duration remaining(Time now) const;
  HoldState state() const;
  /// Why it is lost, for people; empty if it is not.
  std::string why_lost() const;
  /// What a release that comes too late is told.
  Error lost_before_release() const { return {Errc::lost, "the hold was lost before it was released: " + why_lost()}; }
  bool released() const { return phase_.load() == Phase::released; }

  /// True: it was ours to release. Whoever comes after the deadline is told false, and the hold is lost.
  bool let_go();
  /// Lost now, whatever the clock says.
  void lose(const std::string& why);
  void ask_for_release();

 private:
  enum class Phase : std::uint8_t { held, released, lost };
  bool leave(Phase phase, Time now);
  void tell_queue();
  void report(EventType type, const std::string& message);
  const char* why_overdue(Time now) const;

  void validity_lost(const char* why) override;
  void validity_in_jeopardy() override;
  void validity_safe() override;

  const std::shared_ptr<session::Context> context_;
  Runtime& runtime_;
  const std::shared_ptr<session::Validity> validity_;
  const Terms terms_;
  const Time since_;
  const Time until_;  // by max_hold
  std::atomic<Phase> phase_{Phase::held};
  std::atomic<Mode> mode_;
  mutable std::mutex mutex_;  // guards why_lost_: nobody sees a loss without its reason
  std::string why_lost_;
  std::stop_source lost_;
  std::stop_source release_requested_;
  std::weak_ptr<void> owner_;
  std::function<void(const std::shared_ptr<LocalHold>&)> on_lost_;
  std::atomic<bool> queue_told_{false};
  session::Validity::WatcherId watcher_ = 0;
  Runtime::AlarmId alarm_ = 0;
};

}  // namespace pawl::local
