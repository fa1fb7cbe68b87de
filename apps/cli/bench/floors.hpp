#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// What a lock of a store cannot do without, measured with nothing of ours: the floor below its figures.
namespace pawl::cli {

/// The store's bare work for one acquisition and release, in this process.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run() = 0;
};

/// A store's floor. A new store adds a file with its Step, and a line to the table in floors.cpp.
struct Floor {
  std::string_view store;  ///< the scheme of its URL
  std::string_view what;   ///< "two LMDB write transactions"
  /// `folder` is the measurement's own and empty at first; all processes of one case get the same one.
  std::unique_ptr<Step> (*make)(const std::filesystem::path& folder, std::string_view url);
};

/// Null where a store has none (yet).
const Floor* floor_of(std::string_view store);

#ifdef PAWL_STORE_FILE
/// Two write transactions with the flags of the file store, one record each.
std::unique_ptr<Step> make_lmdb_step(const std::filesystem::path& folder, std::string_view url);
#endif

}  // namespace pawl::cli
