#include "store/file/file_store.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace pawl::store::file {

FileStore::FileStore(FolderOptions options, base::Runtime& runtime)
    : connection_(std::make_shared<Connection>(std::move(options), runtime)), queue_(connection_) {}

void FileStore::attach(Surroundings surroundings) { connection_->attach(std::move(surroundings.sessions_in_doubt)); }

awaitable<Result<void>> FileStore::connect(Deadline deadline) { return connection_->connect(deadline); }

awaitable<Result<SessionGrant>> FileStore::open_session(SessionRequest request, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  connection_->listener().watch_folder();
  const Capabilities& limits = Queue::declared;
  const SessionId id = connection_->runtime().make_id<SessionId>();
  SessionRecord record;
  record.lease = std::clamp(request.lease, limits.shortest_lease, limits.longest_lease);
  record.process = connection_->environment()->process();
  record.mailbox = connection_->listener().mailbox();
  record.owner = request.owner;
  const Connection::Work<SessionGrant> work = [id, record](Tables& tables) -> Result<SessionGrant> {
    if (auto opened = tables.open_session(id, record); !opened) return opened.error();
    return SessionGrant{id, record.lease};
  };
  Result<SessionGrant> answer = co_await connection_->visit(work, deadline);
  if (answer.code() == Errc::lost) co_return Error{Errc::store_unavailable, answer.error().message};
  co_return answer;
}

awaitable<Result<Renewal>> FileStore::renew(SessionId session, Deadline deadline) {
  if (connection_->leave_if_gone()) co_return connection_->gone();
  const Connection::Work<Renewal> work = [session](Tables& tables) { return tables.renew(session); };
  Result<Renewal> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<void>> FileStore::close_session(SessionId session, Deadline deadline) {
  const Connection::Work<void> work = [session](Tables& tables) -> Result<void> {
    tables.close_session(session);
    return {};
  };
  Result<void> answer = co_await connection_->visit(work, deadline);
  if (answer.code() == Errc::lost) co_return Result<void>();  // with the folder
  co_return answer;
}

awaitable<Result<std::uint64_t>> FileStore::epoch(Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<std::uint64_t> work = [](Tables& tables) -> Result<std::uint64_t> {
    return tables.counters().epoch;
  };
  Result<std::uint64_t> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<std::uint64_t>> FileStore::raise_epoch(Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  base::Runtime& runtime = connection_->runtime();
  const auto raised = std::make_shared<std::uint64_t>();
  const Blocking work = [environment = connection_->environment(), &runtime, deadline, raised]() -> Result<void> {
    const auto epoch = environment->reserve_tokens(runtime, true, deadline.at - runtime.now());
    if (!epoch) return epoch.error();
    *raised = *epoch;
    return {};
  };
  Result<void> done = co_await block(runtime, connection_->environment()->folder().path(), work, deadline);
  if (!done) co_return done.error();
  co_return *raised;
}

Scheme* FileStore::scheme(std::string_view name) {
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<FolderOptions> folder = read_config(url, options);
  if (!folder) return folder.error();
  return std::make_shared<FileStore>(std::move(*folder), runtime);
}

}  // namespace pawl::store::file
