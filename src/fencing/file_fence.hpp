#pragma once

#include "fencing/fence.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace pawl::fencing {

/// Marks in a file, exclusion by flock() on `<path>.lock` beside it.
/// The lock file is opened anew for each write, so that threads, processes and their children all exclude each other;
/// the kernel lets go when a process dies. The mark's file is replaced as a whole, so that it may be read without the
/// lock. It is never started anew once the fence is open: if it vanishes, the fence is shut.
/// Limit:  a child forked inside a write keeps the lock of a parent that dies in it, until the child ends as well.
/// Errors: permission_denied, store_unavailable; invalid_argument when a path is no regular file.
class FileFence final : public FenceCore {
 public:
  /// `fresh` names the lock; it becomes the content of a file that is not there yet.
  static Result<std::shared_ptr<FenceCore>> open(const std::filesystem::path& path, const Marks& fresh,
                                                 FenceOptions options);

  Result<void> check(const Sequencer& sequencer) const override;

 private:
  FileFence(std::string path, const Marks& fresh, FenceOptions options);
  Result<void> change_and_write(const Change& change, const Write& write) override;

  Result<void> found(const Marks& fresh);
  Result<std::optional<Marks>> read() const;
  Result<Marks> read_existing() const;
  Result<void> keep(const std::string& text);
  Result<void> confirm(const std::string& text);

  const std::string path_;
  const Marks lock_;     // whose fence this is; its marks are not used
  std::string durable_;  // the text that is known to have reached the disk; guarded by the exclusion
};

}  // namespace pawl::fencing
