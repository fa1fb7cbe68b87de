#pragma once

#include "apps/cli/run/wanted.hpp"

#include <pawl/options.hpp>
#include <pawl/token.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// `--log FILE`: a JSON object on each line for what has become of a run, appended in one write, so that several runs may
/// share a file.
///
/// | event          | when                                              | besides time, host, pid and locks |
/// |----------------|---------------------------------------------------|-----------------------------------|
/// | asked          | it has begun                                      |                                   |
/// | granted        | they are held                                     | token, waited_ms                  |
/// | refused        | they were not granted: the store, time, a signal  | reason                            |
/// | released       | they were held to the end, and let go             | token, exit_code, held_ms         |
/// | lost           | they could not be kept, or were taken away        | token, exit_code, held_ms, reason |
/// | release_failed | held to the end; free when the lease ends         | token, exit_code, held_ms, reason |
///
/// The last event of a run is one of the last four, unless it was killed.
class RunLog {
 public:
  /// Throws Failure when the file cannot be written. Without a file it does nothing.
  RunLog(const std::optional<std::string>& file, const std::vector<Wanted>& wanted);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  void asked();
  void granted(const Token& token);
  void refused(std::string_view reason) const;
  void released(int exit_code) const;
  void lost(std::string_view reason, int exit_code) const;
  void release_failed(std::string_view reason, int exit_code) const;

 private:
  using Clock = std::chrono::steady_clock;

  void over(std::string_view event, int exit_code, const std::string& reason = {}) const;
  void write(std::string_view event, const std::string& members = {}) const;

  int file_ = -1;
  std::string locks_;
  std::string token_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace pawl::cli
