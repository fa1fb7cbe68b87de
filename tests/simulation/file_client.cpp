#include "tests/simulation/file_client.hpp"

#include "store/file/queue.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::test {

using base::awaitable;
using base::Deadline;
using store::Claim;
using store::ClaimId;
using store::ClaimState;
using store::LockKey;
using store::Standing;
using store::Withdrawal;
using store::Withdrawn;
using store::file::Tables;

class FileClient::Queue final : public store::Scheme {
 public:
  Queue(std::shared_ptr<FileFolder> folder, FileFolder::ProcessKey key) : folder_(std::move(folder)), key_(key) {}
  ~Queue() override {
    for (const ClaimId claim : watched_) folder_->unwatch(claim);
  }

  const store::Capabilities& capabilities() const override { return store::file::Queue::declared; }

  std::optional<Result<ClaimState>> claim_now(const Claim& claim) override {
    std::set<FileFolder::ProcessKey> ahead;
    Result<ClaimState> state = folder_->ask<Result<ClaimState>>(key_, [&](Tables& tables) {
      Result<ClaimState> answer = tables.claim(claim);
      ahead = tables.just_ahead();
      return answer;
    });
    if (state && !ahead.empty()) folder_->wait_behind(key_, claim.id, std::move(ahead));
    return state;
  }
  std::optional<Result<Withdrawn>> withdraw_now(const Claim& claim, Withdrawal how) override {
    return folder_->ask<Withdrawn>(key_, [&](Tables& tables) { return tables.withdraw(claim, how); });
  }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline) override { co_return *claim_now(claim); }
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline) override {
    co_return *withdraw_now(claim, how);
  }
  awaitable<Result<Standing>> look(Claim claim, Deadline) override {
    co_return folder_->ask<Standing>(key_, [&](Tables& tables) { return tables.look(claim); });
  }
  awaitable<Result<void>> downgrade(Claim claim, Deadline) override {
    co_return folder_->ask<Result<void>>(key_, [&](Tables& tables) { return tables.downgrade(claim); });
  }
  awaitable<Result<void>> relabel(Claim claim, Deadline) override {
    folder_->visit(key_, [&](Tables& tables) { tables.relabel(claim); });
    co_return Result<void>();
  }

  void watch(ClaimId claim, store::Waker waker) override {
    watched_.insert(claim);
    folder_->watch(key_, claim, std::move(waker));
  }
  void unwatch(ClaimId claim) override {
    watched_.erase(claim);
    folder_->unwatch(claim);
  }

  awaitable<Result<LockView>> inspect(LockKey key, Deadline) override {
    const auto page = folder_->ask<Tables::Page>(key_, [&](Tables& tables) { return tables.inspect(key, {}); });
    co_return page.views.front();
  }
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline) override {
    co_return folder_->ask<Tables::Page>(key_, [&](Tables& tables) { return tables.list(prefix, {}); }).views;
  }
  awaitable<Result<store::Succession>> succession(LockKey key, Token after, Deadline) override {
    co_return folder_->ask<store::Succession>(key_, [&](Tables& tables) { return tables.succession(key, after); });
  }
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline) override {
    co_return folder_->ask<bool>(key_, [&](Tables& tables) { return tables.check(key, token); });
  }
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline) override {
    co_return folder_->ask<bool>(
        key_, [&](Tables& tables) { return now ? tables.take_away(key, claim) : tables.ask_to_release(key, claim); });
  }

 private:
  const std::shared_ptr<FileFolder> folder_;
  const FileFolder::ProcessKey key_;
  std::set<ClaimId> watched_;
};

FileClient::FileClient(std::shared_ptr<FileFolder> folder, base::SimProcess& process)
    : folder_(std::move(folder)),
      process_(process),
      key_(folder_->enter(process)),
      queue_(std::make_unique<Queue>(folder_, key_)) {}

FileClient::~FileClient() = default;

awaitable<Result<void>> FileClient::connect(Deadline) { co_return Result<void>(); }

awaitable<Result<store::SessionGrant>> FileClient::open_session(store::SessionRequest request, Deadline) {
  const store::Capabilities& limits = store::file::Queue::declared;
  const store::SessionId id = process_.make_id<store::SessionId>();
  store::file::SessionRecord record;
  record.lease = std::clamp(request.lease, limits.shortest_lease, limits.longest_lease);
  record.process = key_;
  record.mailbox = key_;
  record.owner = request.owner;
  const Result<void> opened =
      folder_->ask<Result<void>>(key_, [&](Tables& tables) { return tables.open_session(id, record); });
  if (!opened) co_return opened.error();
  const store::SessionGrant grant{id, record.lease};
  co_return grant;
}

awaitable<Result<store::Renewal>> FileClient::renew(store::SessionId session, Deadline) {
  co_return folder_->ask<Result<store::Renewal>>(key_, [&](Tables& tables) { return tables.renew(session); });
}

awaitable<Result<void>> FileClient::close_session(store::SessionId session, Deadline) {
  folder_->visit(key_, [&](Tables& tables) { tables.close_session(session); });
  co_return Result<void>();
}

store::Scheme* FileClient::scheme(std::string_view name) {
  return name.empty() || name == store::file::Queue::declared.scheme ? queue_.get() : nullptr;
}

std::vector<const store::Capabilities*> FileClient::schemes() const { return {&store::file::Queue::declared}; }

}  // namespace pawl::test
