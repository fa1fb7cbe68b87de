#pragma once

#include "store/store.hpp"
#include "tests/simulation/file_folder.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::test {

/// A client's way to a simulated folder: what FileStore and its Queue are in the product.
class FileClient final : public store::Store {
 public:
  FileClient(std::shared_ptr<FileFolder> folder, base::SimProcess& process);
  ~FileClient() override;

  base::awaitable<Result<void>> connect(base::Deadline deadline) override;
  std::uint64_t id() const override { return folder_->id(); }
  base::awaitable<Result<store::SessionGrant>> open_session(store::SessionRequest request,
                                                            base::Deadline deadline) override;
  base::awaitable<Result<store::Renewal>> renew(store::SessionId session, base::Deadline deadline) override;
  base::awaitable<Result<void>> close_session(store::SessionId session, base::Deadline deadline) override;
  store::Scheme* scheme(std::string_view name) override;
  std::vector<const store::Capabilities*> schemes() const override;

 private:
  class Queue;

  const std::shared_ptr<FileFolder> folder_;
  base::SimProcess& process_;
  const FileFolder::ProcessKey key_;
  const std::unique_ptr<Queue> queue_;
};

}  // namespace pawl::test
