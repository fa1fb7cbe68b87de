#include "tests/support/census.hpp"

#include <sstream>
#include <string>

#ifdef PAWL_STORE_FILE
#include "base/boot_clock.hpp"
#include "base/lock_name.hpp"
#include "store/file/transaction.hpp"

#include <fcntl.h>

#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#endif

#ifdef PAWL_STORE_MYSQL
#include "tests/support/mysql_server.hpp"
#endif

#ifdef PAWL_STORE_REDIS
#include "tests/support/naive_redis.hpp"

#include <memory>
#include <utility>
#include <vector>
#endif

#ifdef PAWL_STORE_ETCD
#include "base/lock_name.hpp"
#include "tests/support/etcd_server.hpp"
#endif

#ifdef PAWL_STORE_ZOOKEEPER
#include "base/real_runtime.hpp"
#include "store/zookeeper/connection.hpp"

#include <algorithm>
#include <stdexcept>
#endif

namespace pawl::test {

#ifdef PAWL_STORE_REDIS

namespace {

// A lock-delay is 60 s at most, and so long is the history of an election kept.
constexpr const char* left_on_redis = R"(
local now = redis.call('TIME')
now = now[1] * 1000 + now[2] / 1000
local minute = 61000
local keys = redis.call('KEYS', '*')
local shut = {}
for _, key in ipairs(keys) do
  local prefix = string.match(key, '^(.*:)ends$')
  if prefix then
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do
      local lock = string.match(all[i], '^g(.*)$')
      if lock and tonumber(all[i + 1]) <= now + minute then shut[prefix .. lock] = true else shut[key] = all[i] end
    end
  end
end
local function declared(key, type, left)
  if string.match(key, ':ends$') then return not shut[key] end
  if string.match(key, ':meta$') then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if not string.match(' layout epoch run store counter ', ' ' .. field .. ' ') then return false end
    end
    return true
  end
  local prefix, what, lock = string.match(key, '^(.-}:)([lgb]):(.*)$')
  if what and shut[prefix .. lock] then return what ~= 'l' or redis.call('HGET', key, 'h') == '0' end
  if left < 0 or left > minute then return false end
  if string.match(key, '}:n:') then return true end
  if type == 'string' then return string.sub(redis.call('GET', key), 1, 13) == 'lock-delay of' end
  local fields = type == 'hash' and redis.call('HKEYS', key) or {}
  return #fields == 1 and string.sub(fields[1], 1, 13) == 'lock-delay of'
end
local found = {}
for _, key in ipairs(keys) do
  local type = redis.call('TYPE', key).ok
  local left = redis.call('PTTL', key)
  if left ~= -2 and not declared(key, type, left) then
    local size = ({hash = 'HLEN', set = 'SCARD', zset = 'ZCARD', list = 'LLEN'})[type]
    local note = size and (' of ' .. redis.call(size, key)) or ''
    if left < 0 then note = note .. ', without an end' end
    if shut[key] then note = note .. ', with ' .. shut[key] end
    found[#found + 1] = key .. ' (' .. type .. note .. ')'
  end
end
return table.concat(found, '\n')
)";

constexpr const char* left_on_node = R"(
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local rest = string.sub(key, 1, #ARGV[1]) == ARGV[1] and string.sub(key, #ARGV[1] + 1)
  local left = redis.call('PTTL', key)
  local ends_soon = left >= 0 and left <= 61000
  local is_text = redis.call('TYPE', key).ok == 'string'
  local declared = rest == 'meta' or rest == 'counters' or left == -2
  if rest and ends_soon and string.sub(rest, 1, 2) == 'x:' then declared = true end
  if rest and left >= 0 and string.sub(rest, 1, 7) == 'absent:' then declared = true end
  if rest and is_text and ends_soon then
    declared = declared or string.sub(redis.call('GET', key), 1, 13) == 'lock-delay of'
  end
  if rest and not declared then found[#found + 1] = key end
end
return table.concat(found, '\n')
)";

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

}  // namespace

Census redlock_census(std::vector<std::uint16_t> ports, std::string prefix) {
  return [ports = std::move(ports), prefix = std::move(prefix)] {
    std::set<std::string> found;
    for (const std::uint16_t port : ports) {
      naive::Redis redis(port);
      found.merge(lines_of(redis.call({"EVAL", left_on_node, "0", prefix}).value_or("")));
    }
    return found;
  };
}

Census redis_census(std::uint16_t port) {
  return [port] {
    naive::Redis redis(port);
    return lines_of(redis.call({"EVAL", left_on_redis, "0"}).value_or(""));
  };
}

#endif

#ifdef PAWL_STORE_MYSQL

Census mysql_census(std::uint16_t port) {
  return [port] {
    MysqlClient root(port, "root", "", "pawl");
    std::set<std::string> found;
    if (root.query("SHOW TABLES LIKE 'pawl_meta'").empty()) return found;  // nobody has used it yet
    // A lock-delay is 60 s at most; so long is the history of an election kept.
    const std::string soon = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + 61000000";
    // And for a moment the record of a user lock that is free.
    const std::string shut = "(state = 2 AND until < " + soon +
                             ") OR (state = 1 AND SUBSTRING_INDEX(lock_id, '/', 1) LIKE '%~named' AND "
                             "IS_USED_LOCK(SHA2(CONCAT(DATABASE(), '/', lock_id), 256)) IS NULL)";
    const std::vector<std::pair<std::string, std::string>> tables{
        {"session", "SELECT id FROM pawl_session"},
        {"claim", "SELECT id FROM pawl_claim WHERE NOT (" + shut + ")"},
        {"lock", "SELECT id FROM pawl_lock WHERE id NOT IN (SELECT lock_id FROM pawl_claim WHERE " + shut + ")"},
        {"tombstone", "SELECT claim FROM pawl_tombstone"},
        {"mail", "SELECT CONCAT(claim, ' ', what) FROM pawl_mail"},
        {"reign", "SELECT lock_id FROM pawl_reign WHERE till = 0"},
        {"unsettled", "SELECT lock_id FROM pawl_unsettled"},
        {"untold", "SELECT lock_id FROM pawl_untold"},
        {"unique",
         "SELECT lock_name FROM pawl_unique WHERE claim NOT IN (SELECT id FROM pawl_claim WHERE " + shut + ")"},
        {"version", "SELECT lock_name FROM pawl_version"}};
    for (const auto& [table, select] : tables) {
      for (const auto& row : root.query(select)) found.insert(table + " " + row[0]);
    }
    return found;
  };
}

#endif

#ifdef PAWL_STORE_FILE

namespace {

using store::file::Key;
using store::file::Transaction;

/// `walk` is called with each record's key.
template <class Walk>
void walk_all(Transaction& transaction, Walk walk) {
  for (char table = 1; table < 127; ++table) {
    const std::string prefix(1, table);
    for (auto entry = transaction.first(Key(table)); entry;) {
      const std::string key(entry->key);
      walk(key);
      entry = transaction.after(Key(table).text(std::string_view(key).substr(1)), prefix);
    }
  }
}

/// "d" and a time lead to what ends then: the lock-delay of a lock, or a session.
std::string lock_that_ends_soon(const std::string& key) {
  constexpr std::size_t time_at = 1, kind_at = 9;
  if (key.front() != 'd' || key.size() <= kind_at || key[kind_at] != 'l') return {};
  const auto minute = std::chrono::nanoseconds(std::chrono::seconds(61));
  const auto soon = (base::read_boot_clock().time_since_epoch() + minute).count();
  if (store::file::number_in(key, time_at) > static_cast<std::uint64_t>(soon)) return {};
  return key.substr(kind_at + 1);
}

}  // namespace

Census file_census(std::string folder) {
  return [folder = std::move(folder)] {
    std::set<std::string> found;
    const std::string path = folder + "/locks";
    store::file::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return found;  // nobody has used it yet
    store::file::Database database = store::file::Database::open(std::move(file), path).value();
    Transaction transaction(database);  // is never committed
    std::set<std::string> keys, ending;
    walk_all(transaction, [&](const std::string& key) {
      keys.insert(key);
      if (const std::string lock = lock_that_ends_soon(key); !lock.empty()) ending.insert(lock);
    });
    if (transaction.fault() != 0) throw std::runtime_error(path + " cannot be read");
    for (const std::string& key : keys) {
      const bool of_a_lock = key.front() == 'l' || key.front() == 'n';
      const bool declared = key == "k" || (of_a_lock && ending.contains(key.substr(1))) ||
                            (key.front() == 'd' && !lock_that_ends_soon(key).empty());
      if (!declared) found.insert("record " + base::printable(key));
    }
    return found;
  };
}

#endif

#ifdef PAWL_STORE_ZOOKEEPER

namespace {

using store::zookeeper::Answer;
using store::zookeeper::Connection;
using store::zookeeper::SharedRequest;

/// Looks at nodes on a connection of its own.
class Looker {
 public:
  explicit Looker(const std::string& servers) {
    Connection::Plan plan;
    std::istringstream in(servers);
    for (std::string server; std::getline(in, server, ',');) {
      const auto colon = server.rfind(':');
      const auto port = static_cast<std::uint16_t>(std::stoi(server.substr(colon + 1)));
      plan.servers.push_back({.host = server.substr(0, colon), .port = port});
    }
    plan.session = std::chrono::seconds(60);
    connection_ = std::make_shared<Connection>(runtime_, std::move(plan));
    runtime_.block_on(connection_->open(std::nullopt, soon())).value();
  }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;
  ~Looker() { (void)runtime_.block_on(ask(connection_, {}, Question::close, soon())); }

  Answer get(const std::string& path) { return must(path, Question::data); }
  std::vector<std::string> children(const std::string& path) { return must(path, Question::children).children; }

 private:
  enum class Question : std::uint8_t { data, children, close };

  static base::awaitable<Result<Answer>> ask(std::shared_ptr<Connection> connection, std::string path,
                                             Question question, base::Deadline deadline) {
    Result<void> ready = co_await connection->ready(deadline);
    if (!ready) co_return ready.error();
    if (question == Question::close) connection->close();
    SharedRequest asked;
    if (question == Question::data) {
      asked = connection->get(path);
    } else if (question == Question::children) {
      asked = connection->children(path);
    } else {
      asked = connection->exists("/");
    }
    Answer answer = co_await asked->wait(deadline);
    co_return answer;
  }
  Answer must(const std::string& path, Question question) {
    return runtime_.block_on(ask(connection_, path, question, soon())).value();
  }
  base::Deadline soon() const { return base::Deadline::in(runtime_.now(), std::chrono::seconds(60)); }

  base::RealRuntime& runtime_ = base::RealRuntime::process_wide();
  std::shared_ptr<Connection> connection_;
};

/// The nodes of claims. The folders of locks stay until the servers remove them, a minute or so later; they look like any
/// other folder.
void walk(Looker& looker, const std::string& path, std::set<std::string>& found) {
  const Answer node = looker.get(path);
  if (!node.ok()) return;  // it has just gone
  if (node.stat.ephemeralOwner != 0) found.insert(path + " (ephemeral)");
  if (node.stat.numChildren == 0) return;
  for (const std::string& name : looker.children(path)) walk(looker, path + "/" + name, found);
}

}  // namespace

Census zookeeper_census(std::string servers, std::string path) {
  return [servers = std::move(servers), path = std::move(path)] {
    Looker looker(servers);
    std::set<std::string> found;
    walk(looker, path, found);
    return found;
  };
}

#endif

#ifdef PAWL_STORE_ETCD

namespace {

constexpr std::int64_t longest_history = 120;  // seconds

/// A lock in lock-delay, or the history of an election: it ends with a lease that no session renews.
bool ends_soon(const EtcdServer& server, std::int64_t lease, const std::set<std::int64_t>& of_sessions) {
  return lease != 0 && !of_sessions.contains(lease) && server.seconds_left(lease).value_or(0) <= longest_history;
}

}  // namespace

Census etcd_census(const EtcdServer& server, std::string prefix) {
  return [&server, prefix = std::move(prefix)] {
    const std::vector<EtcdRecord> records = server.records(prefix);
    std::set<std::int64_t> of_sessions;
    for (const EtcdRecord& record : records) {
      if (record.key.starts_with(prefix + "sessions/")) of_sessions.insert(record.lease);
    }
    std::set<std::string> found;
    for (const EtcdRecord& record : records) {
      const std::string key = record.key.substr(prefix.size());
      if (key != "epoch" && !ends_soon(server, record.lease, of_sessions)) found.insert("key " + base::printable(key));
    }
    for (const std::int64_t lease : server.leases()) {
      if (!ends_soon(server, lease, of_sessions)) found.insert("lease " + std::to_string(lease));
    }
    return found;
  };
}

#endif

}  // namespace pawl::test
