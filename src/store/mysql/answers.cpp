#include "store/mysql/answers.hpp"

#include "store/chronicle.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace pawl::store::mysql {

namespace {

Token token_of(const std::string& epoch, const std::string& counter) { return {number(epoch), number(counter)}; }

Slots slots_of(std::string_view text) {
  Slots slots;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    slots.push_back(static_cast<std::uint32_t>(number(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return slots;
}

Owner owner_of(const std::string& host, const std::string& pid, const std::string& label) {
  Owner owner;
  owner.host = host;
  owner.pid = signed_number(pid);
  owner.label = label;
  return owner;
}

Waiting waiting_of(const Row& row) {
  Waiting waiting{duration(row[5])};
  if (signed_number(row[6]) >= 0) waiting.ahead = number(row[6]);
  if (!row[8].empty()) waiting.holder = owner_of(row[7], row[8], row[9]);
  waiting.shut_for = std::max<Duration>(duration(row[10]), Duration::zero());
  if (number(row[11]) > 0) {
    waiting.permits = {static_cast<std::uint32_t>(number(row[12])), static_cast<std::uint32_t>(number(row[13]))};
  }
  return waiting;
}

/// The columns of pawl_inspect.
enum Column : std::size_t {
  c_lock,
  c_state,
  c_ticket,
  c_name,
  c_permits,
  c_now,
  c_claim,
  c_shared,
  c_host,
  c_pid,
  c_label,
  c_since,
  c_epoch,
  c_counter,
  c_slots,
  c_wanted,
  c_value,
  c_ends,
  c_asked,
  c_until,
  columns
};

ClaimView claim_view(const Row& row) {
  const Duration now = duration(row[c_now]);
  ClaimView view;
  view.claim = row[c_claim];
  view.mode = row[c_shared] == "1" ? Mode::shared : Mode::exclusive;
  view.owner = owner_of(row[c_host], row[c_pid], row[c_label]);
  view.age = now - duration(row[c_since]);
  view.token = token_of(row[c_epoch], row[c_counter]);
  view.slots = slots_of(row[c_slots]);
  view.permits = static_cast<std::uint32_t>(number(row[c_wanted]));
  view.value = row[c_value];
  view.lease_left = std::max<Duration>(duration(row[c_ends]) - now, Duration::zero());
  view.release_requested = row[c_asked] == "1";
  return view;
}

/// "prefix/kind:name": the kind.
std::optional<Kind> kind_in(std::string_view lock) {
  const std::size_t begin = lock.find('/') + 1;
  const Result<Kind> kind = parse_kind(lock.substr(begin, lock.find(':', begin) - begin));
  return kind ? std::optional(*kind) : std::nullopt;
}

/// A waiter that became a holder between two pages is in both.
void forget_granted(LockView& view) {
  std::set<std::string_view> holders;
  for (const ClaimView& holder : view.holders) holders.insert(holder.claim);
  std::erase_if(view.waiters, [&holders](const ClaimView& waiter) { return holders.contains(waiter.claim); });
}

/// The server's microseconds as a time of ours: only differences count.
base::Time time_of(const std::string& microseconds) { return base::Time(duration(microseconds)); }

}  // namespace

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int64_t signed_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Duration duration(std::string_view text) {
  // Two of them have a difference.
  constexpr std::int64_t longest = std::chrono::floor<std::chrono::microseconds>(Duration::max()).count() / 2;
  return std::chrono::microseconds(std::clamp(signed_number(text), -longest, longest));
}

std::string microseconds(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::microseconds>(duration).count());
}

Error unexpected() { return {Errc::store_unavailable, "the server does not answer as expected"}; }

bool has_many_writers(const std::map<std::string, std::string>& variables) {
  const auto is = [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  return is("wsrep_on") == "ON" ||
         (!is("group_replication_group_name").empty() && is("group_replication_single_primary_mode") != "ON");
}

Result<ClaimState> state_of(const std::vector<Row>& rows, const Claim& claim) {
  if (rows.size() != 1 || (rows[0].size() != 5 && rows[0].size() != 14)) return unexpected();
  const Row& row = rows[0];
  const std::string& what = row[0];
  const std::string name = claim.key.name.quoted();
  if (what == "granted") return ClaimState{Granted{token_of(row[1], row[2]), row[3] == "1", slots_of(row[4])}};
  if (row.size() != 14) return unexpected();
  if (what == "waiting") return ClaimState{waiting_of(row)};
  if (what == "lost") return Error{Errc::lost, "lock " + name + ": the session of this claim has ended"};
  if (what == "gone") {
    return Error{Errc::not_owner, "lock " + name + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (what == "permits") {
    const auto agreed = static_cast<std::uint32_t>(number(row[11]));
    if (auto sound = check_sound(claim, agreed); !sound) return sound.error();
  }
  if (what == "other") return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  return unexpected();
}

Result<Standing> standing_of(const std::vector<Row>& rows) {
  if (rows.size() != 1 || rows[0].size() != 6) return unexpected();
  const Row& row = rows[0];
  Standing standing;
  if (row[0] == "0") standing.place = Standing::Place::waiting;
  if (row[0] != "1") return standing;
  standing.place = Standing::Place::held;
  standing.token = token_of(row[1], row[2]);
  standing.contended = row[3] == "1";
  standing.release_requested = row[4] == "1";
  standing.slots = slots_of(row[5]);
  return standing;
}

Renewal renewal_of(const std::vector<Row>& rows) {
  Renewal renewal;
  std::vector<ClaimId> claims;
  for (const Row& row : rows) {
    renewal.changes = std::max(renewal.changes, number(row.at(2)));
    ClaimId claim;
    if (base::parse_hex(row.at(1), claim.high, claim.low)) claims.push_back(claim);
  }
  if (claims.size() <= most_named) renewal.changed = std::move(claims);
  return renewal;
}

std::vector<LockView> views_of(const std::vector<Row>& rows, std::string_view scheme) {
  std::vector<LockView> views;
  const std::string* last = nullptr;
  for (const Row& row : rows) {
    if (row.size() != columns || row[c_name].empty()) continue;
    const std::optional<Kind> kind = kind_in(row[c_lock]);
    if (!kind) continue;
    if (last == nullptr || *last != row[c_lock]) {
      LockView view{.kind = *kind, .scheme = std::string(scheme), .name = row[c_name]};
      view.permits = static_cast<std::uint32_t>(number(row[c_permits]));
      views.push_back(std::move(view));
    }
    last = &row[c_lock];
    LockView& view = views.back();
    if (row[c_state] == "0") view.waiters.push_back(claim_view(row));
    if (row[c_state] == "1") view.holders.push_back(claim_view(row));
    if (row[c_state] == "2") {
      view.shut_for = std::max<Duration>(view.shut_for, duration(row[c_until]) - duration(row[c_now]));
    }
  }
  for (LockView& view : views) forget_granted(view);
  return views;
}

Result<Succession> succession_of(const std::vector<Row>& rows, Token after) {
  if (rows.empty() || rows[0].size() != 10) return unexpected();
  Chronicle chronicle;
  for (const Row& row : rows) {
    if (row[2].empty()) continue;
    Chronicle::Entry entry;
    entry.leader.token = token_of(row[2], row[3]);
    entry.leader.owner = owner_of(row[6], row[7], row[8]);
    entry.leader.value = row[9];
    entry.since = time_of(row[4]);
    if (row[5] != "0") entry.until = time_of(row[5]);
    chronicle.entries.push_back(std::move(entry));
  }
  Succession succession = chronicle.after(after, time_of(rows[0][0]));
  succession.vacant = rows[0][1] == "1";
  return succession;
}

Notice notice_of(const Row& row) {
  Notice notice;
  if (row.size() != 6) return notice;
  const std::string& what = row[2];
  if (what == "contended") notice.what = Notice::What::contended;
  if (what == "asked") notice.what = Notice::What::release_requested;
  if (what == "gone") notice.what = Notice::What::gone;
  if (what == "granted") {
    notice.what = Notice::What::granted;
    notice.grant.token = token_of(row[3], row[4]);
    notice.grant.contended = row[5] == "1";
  }
  return notice;
}

}  // namespace pawl::store::mysql
