#include "apps/cli/run/run_log.hpp"

#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "base/host.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace pawl::cli {

namespace {

/// For people and programs that read the log; nothing is decided by it.
std::string wall_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1'000'000);
}

std::int64_t milliseconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

RunLog::RunLog(const std::optional<std::string>& file, const std::vector<Wanted>& wanted) {
  if (!file) return;
  file_ = ::open(file->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw Failure{own_failure, fmt::format("--log {}: {}", base::printable(*file), ::strerror(errno))};
  }
  for (const Wanted& one : wanted) locks_ += (locks_.empty() ? "" : ", ") + json_quote(one.name);
}

RunLog::~RunLog() {
  if (file_ >= 0) ::close(file_);
}

void RunLog::asked() {
  since_ = Clock::now();
  write("asked");
}

void RunLog::granted(const Token& token) {
  token_ = token.to_string();
  write("granted", fmt::format(", \"token\": \"{}\", \"waited_ms\": {}", token_, milliseconds_since(since_)));
  since_ = Clock::now();
}

void RunLog::refused(std::string_view reason) const { write("refused", ", \"reason\": " + json_quote(reason)); }

void RunLog::released(int exit_code) const { over("released", exit_code); }

void RunLog::lost(std::string_view reason, int exit_code) const {
  over("lost", exit_code, ", \"reason\": " + json_quote(reason));
}

void RunLog::release_failed(std::string_view reason, int exit_code) const {
  over("release_failed", exit_code, ", \"reason\": " + json_quote(reason));
}

void RunLog::over(std::string_view event, int exit_code, const std::string& reason) const {
  const std::string code = exit_code < 0 ? "null" : std::to_string(exit_code);  // of a command that is not our child
  write(event, fmt::format(", \"token\": \"{}\", \"exit_code\": {}, \"held_ms\": {}{}", token_, code,
                           milliseconds_since(since_), reason));
}

void RunLog::write(std::string_view event, const std::string& members) const {
  if (file_ < 0) return;
  const Owner us = base::this_process();
  const std::string line =
      json_line(fmt::format("\"time\": \"{}\", \"event\": \"{}\", \"host\": {}, \"pid\": {}, \"locks\": [{}]{}",
                            wall_clock(), event, json_quote(us.host), us.pid, locks_, members));
  [[maybe_unused]] const ssize_t size = ::write(file_, line.data(), line.size());
}

}  // namespace pawl::cli
