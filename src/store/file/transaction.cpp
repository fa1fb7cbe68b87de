#include "store/file/transaction.hpp"

#include "base/lock_name.hpp"
#include "store/file/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace pawl::store::file {

namespace {

MDB_val as_value(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
std::string_view as_view(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

}  // namespace

std::uint64_t number_in(std::string_view key, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8 && at + i < key.size(); ++i) {
    value = value << 8 | static_cast<std::uint8_t>(key[at + i]);
  }
  return value;
}

Result<Database> Database::open(Fd file, std::string shown, std::size_t most) {
  Database database(std::move(file), std::move(shown), most);
  if (const int fault = database.reopen(); fault != 0) return describe_fault(fault, database.shown_);
  return database;
}

int Database::reopen() {
  env_.reset();
  MDB_env* raw = nullptr;
  if (const int fault = mdb_env_create(&raw); fault != 0) return fault;
  std::unique_ptr<MDB_env, Close> env(raw);
  constexpr unsigned flags = MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOMETASYNC | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD;
  const std::string path = fmt::format("/proc/self/fd/{}", file_.get());  // LMDB would follow a planted link
  int fault = mdb_env_set_mapsize(env.get(), most_);
  if (fault == 0) fault = mdb_env_open(env.get(), path.c_str(), flags, 0600);
  if (fault != 0) return fault;
  int descriptor = -1;  // LMDB would hand it on to every program that is executed
  if (mdb_env_get_fd(env.get(), &descriptor) == 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  env_ = std::move(env);
  return 0;
}

Transaction::Transaction(Database& database) {
  if (database.get() == nullptr) fault_ = database.reopen();
  env_ = database.get();
  if (fault_ == 0) fault_ = mdb_txn_begin(env_, nullptr, 0, &txn_);
  if (fault_ == 0) fault_ = mdb_dbi_open(txn_, nullptr, 0, &table_);
}

Transaction::~Transaction() {
  if (cursor_ != nullptr) mdb_cursor_close(cursor_);
  if (txn_ != nullptr) mdb_txn_abort(txn_);
}

void Transaction::fail(int fault) {
  if (fault_ == 0) fault_ = fault;
}

std::optional<std::string_view> Transaction::get(const Key& key) {
  if (fault_ != 0) return std::nullopt;
  MDB_val name = as_value(key.view());
  MDB_val value{};
  const int outcome = mdb_get(txn_, table_, &name, &value);
  if (outcome == 0) return as_view(value);
  if (outcome != MDB_NOTFOUND) fail(outcome);
  return std::nullopt;
}

void Transaction::put(const Key& key, std::string_view value) {
  if (fault_ != 0) return;
  MDB_val name = as_value(key.view());
  MDB_val bytes = as_value(value);
  fail(mdb_put(txn_, table_, &name, &bytes, 0));
}

void Transaction::erase(const Key& key) {
  if (fault_ != 0) return;
  MDB_val name = as_value(key.view());
  const int outcome = mdb_del(txn_, table_, &name, nullptr);
  if (outcome != MDB_NOTFOUND) fail(outcome);
}

bool Transaction::crowded() {
  if (fault_ != 0) return false;
  MDB_stat records{};
  MDB_envinfo room{};
  fail(mdb_stat(txn_, table_, &records));
  if (fault_ == 0) fail(mdb_env_info(env_, &room));
  const std::size_t pages = records.ms_branch_pages + records.ms_leaf_pages + records.ms_overflow_pages;
  return pages * records.ms_psize > room.me_mapsize / 2;
}

MDB_cursor* Transaction::cursor() {
  if (fault_ == 0 && cursor_ == nullptr) fail(mdb_cursor_open(txn_, table_, &cursor_));
  return fault_ == 0 ? cursor_ : nullptr;
}

std::optional<Transaction::Entry> Transaction::found(int outcome, const MDB_val& key, const MDB_val& value,
                                                     std::string_view prefix) {
  if (outcome != 0) {
    if (outcome != MDB_NOTFOUND) fail(outcome);
    return std::nullopt;
  }
  if (!as_view(key).starts_with(prefix)) return std::nullopt;
  return Entry{as_view(key), as_view(value)};
}

std::optional<Transaction::Entry> Transaction::first(const Key& prefix) {
  MDB_cursor* cursor = this->cursor();
  if (cursor == nullptr) return std::nullopt;
  MDB_val key = as_value(prefix.view());
  MDB_val value{};
  const int outcome = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  return found(outcome, key, value, prefix.view());
}

std::optional<Transaction::Entry> Transaction::after(const Key& start, std::string_view prefix) {
  MDB_cursor* cursor = this->cursor();
  if (cursor == nullptr) return std::nullopt;
  MDB_val key = as_value(start.view());
  MDB_val value{};
  int outcome = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  if (outcome == 0 && as_view(key) == start.view()) outcome = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  return found(outcome, key, value, prefix);
}

std::optional<Transaction::Entry> Transaction::before(const Key& start, std::string_view prefix) {
  MDB_cursor* cursor = this->cursor();
  if (cursor == nullptr) return std::nullopt;
  MDB_val key = as_value(start.view());
  MDB_val value{};
  const int placed = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  const int outcome = mdb_cursor_get(cursor, &key, &value, placed == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
  return found(outcome, key, value, prefix);
}

int Transaction::commit() {
  if (fault_ != 0) return fault_;
  if (cursor_ != nullptr) mdb_cursor_close(std::exchange(cursor_, nullptr));
  fault_ = mdb_txn_commit(std::exchange(txn_, nullptr));
  if (fault_ == 0) return 0;
  // Only the write of the last page is beyond LMDB's power to undo, and then it refuses all further work.
  MDB_txn* probe = nullptr;
  panicked_ = mdb_txn_begin(env_, nullptr, 0, &probe) == MDB_PANIC;
  if (probe != nullptr) mdb_txn_abort(probe);
  return fault_;
}

Error describe_fault(int fault, const std::string& shown) {
  if (fault == MDB_MAP_FULL) {
    return {Errc::overloaded, fmt::format("the locks in \"{}\" need more than {} MiB: there are too many of them",
                                          base::printable(shown), Database::capacity >> 20)};
  }
  if (fault > 0) return system_failure("use", shown, fault);
  return {Errc::store_unavailable,
          fmt::format("the file store cannot use \"{}\": {}", base::printable(shown), mdb_strerror(fault))};
}

}  // namespace pawl::store::file
