#ifdef PAWL_STORE_FILE

#include "apps/cli/bench/floors.hpp"
#include "apps/cli/context.hpp"

#include <fmt/format.h>
#include <lmdb.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace pawl::cli {

namespace {

void must(int fault) {
  if (fault != 0) throw Failure{own_failure, fmt::format("the floor of the file store: {}", ::mdb_strerror(fault))};
}

class LmdbStep final : public Step {
 public:
  explicit LmdbStep(const std::filesystem::path& folder) {
    must(::mdb_env_create(&env_));
    must(::mdb_env_set_mapsize(env_, std::size_t{64} << 20));
    constexpr unsigned flags = MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOMETASYNC | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD;
    must(::mdb_env_open(env_, (folder / "floor").c_str(), flags, 0600));
  }
  LmdbStep(const LmdbStep&) = delete;
  LmdbStep& operator=(const LmdbStep&) = delete;
  ~LmdbStep() override { ::mdb_env_close(env_); }

  void run() override {
    write_one();
    write_one();
  }

 private:
  void write_one() {
    ++number_;
    std::array<char, 96> record{};  // as large as a claim's
    std::memcpy(record.data(), &number_, sizeof number_);
    MDB_txn* transaction = nullptr;
    MDB_dbi table = 0;
    must(::mdb_txn_begin(env_, nullptr, 0, &transaction));
    must(::mdb_dbi_open(transaction, nullptr, 0, &table));
    MDB_val key{4, const_cast<char*>("lock")};
    MDB_val value{record.size(), record.data()};
    must(::mdb_put(transaction, table, &key, &value, 0));
    must(::mdb_txn_commit(transaction));
  }

  MDB_env* env_ = nullptr;
  std::uint64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_lmdb_step(const std::filesystem::path& folder, std::string_view) {
  return std::make_unique<LmdbStep>(folder);
}

}  // namespace pawl::cli

#endif
