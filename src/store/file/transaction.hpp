#pragma once

#include "base/ids.hpp"
#include "store/file/folder.hpp"

#include <pawl/result.hpp>

#include <lmdb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::store::file {

/// The key of a record: the letter of its table, then numbers (in an order that bytes keep), ids and text.
class Key {
 public:
  static constexpr std::size_t max_size = 511;  // LMDB's

  explicit Key(char table) { bytes_[size_++] = table; }
  Key& number(std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes_[size_++] = static_cast<char>(value >> shift & 0xFF);
    return *this;
  }
  template <class Tag>
  Key& id(const base::Id<Tag>& id) {
    return number(id.high).number(id.low);
  }
  Key& text(std::string_view text) {
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, max_size> bytes_;
  std::size_t size_ = 0;
};

/// The number that stands at `at` in a key's bytes.
std::uint64_t number_in(std::string_view key, std::size_t at);

/// LMDB in one file: without its own locks (WriterMutex stands in front of every use, readers included), never synced
/// (it does not outlive the boot), never written through the map (that is a SIGBUS on a full disk).
/// Threads: one at a time, of all processes.
class Database {
 public:
  static constexpr std::size_t capacity = std::size_t{256} << 20;

  /// In this very file, which may be empty, whatever its name leads to by now. `shown` names it in errors.
  static Result<Database> open(Fd file, std::string shown, std::size_t most = capacity);

  /// Null when it could not be opened again after a fault.
  MDB_env* get() const { return env_.get(); }
  const Fd& file() const { return file_; }
  const std::string& shown() const { return shown_; }
  /// After a fault that LMDB cannot mend by itself. 0, or why not: LMDB's numbers and the system's.
  int reopen();

 private:
  struct Close {
    void operator()(MDB_env* env) const { mdb_env_close(env); }
  };
  Database(Fd file, std::string shown, std::size_t most)
      : file_(std::move(file)), shown_(std::move(shown)), most_(most) {}

  Fd file_;
  std::string shown_;
  std::size_t most_;
  std::unique_ptr<MDB_env, Close> env_;
};

/// Everything or nothing. The first thing that goes wrong makes all that follows do nothing and find nothing; commit()
/// tells of it.
/// Limit: what get() and the walks show is valid until the next put() or erase().
class Transaction {
 public:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  /// Opens the database first, if that has failed before.
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  std::optional<std::string_view> get(const Key& key);
  void put(const Key& key, std::string_view value);
  void erase(const Key& key);

  /// The first record whose key begins with the prefix; the one after, or before, that key, if it has the prefix.
  std::optional<Entry> first(const Key& prefix);
  std::optional<Entry> after(const Key& key, std::string_view prefix);
  std::optional<Entry> before(const Key& key, std::string_view prefix);

  /// Do the records fill more than half of the database? The other half is what it takes to get rid of them.
  bool crowded();

  /// LMDB's numbers and the system's, and these.
  static constexpr int out_of_tokens = 1 << 20;
  void fail(int fault);
  int fault() const { return fault_; }
  /// 0, or what went wrong; nothing was done then, unless `panicked` is set.
  int commit();
  /// It could not be told whether it was done.
  bool panicked() const { return panicked_; }

 private:
  MDB_cursor* cursor();
  std::optional<Entry> found(int outcome, const MDB_val& key, const MDB_val& value, std::string_view prefix);

  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  MDB_dbi table_ = 0;
  int fault_ = 0;
  bool panicked_ = false;
};

/// One sentence for what commit() told.
Error describe_fault(int fault, const std::string& shown);

}  // namespace pawl::store::file
