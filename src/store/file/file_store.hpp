#pragma once

#include "base/url.hpp"
#include "store/file/connection.hpp"
#include "store/file/queue.hpp"
#include "store/store.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store::file {

/// Locks in a folder, for the processes of one host. No server: whoever comes next does what a server would do.
/// Promise: a dead process's locks are free at once (after their lock-delay), a stopped one's when its lease ends.
/// Limit:   one host. A process stopped inside a transaction (microseconds) makes the others answer store_unavailable.
class FileStore final : public Store {
 public:
  FileStore(FolderOptions options, base::Runtime& runtime);

  void attach(Surroundings surroundings) override;
  awaitable<Result<void>> connect(Deadline deadline) override;
  std::uint64_t id() const override { return connection_->store_id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override;
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override;
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override;
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override;
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override;
  Scheme* scheme(std::string_view name) override;
  std::vector<const Capabilities*> schemes() const override { return {&Queue::declared}; }

 private:
  const std::shared_ptr<Connection> connection_;
  Queue queue_;
};

/// Reads the text alone: nothing is opened. Errors: invalid_argument.
Result<FolderOptions> read_config(const base::Url& url, base::UrlOptions& options);

/// `file:///path`. Options of its own: `mode=0770` (for a new folder; default 0700), `network=yes` (a network file
/// system that one host uses). Nothing is opened yet.
/// Errors: invalid_argument.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::file
