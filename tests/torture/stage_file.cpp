#include "tests/support/temporary_folder.hpp"
#include "tests/torture/stage.hpp"

namespace pawl::torture {

namespace {

/// No server and no network: what can fail are the workers, and that is enough. A worker is often stopped, or killed, inside a
/// transaction that all others wait for.
class FileStage final : public Stage {
 public:
  std::string url(const std::vector<std::uint16_t>&) const override { return "file://" + (folder_ / "store"); }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

std::unique_ptr<Stage> file_stage() { return std::make_unique<FileStage>(); }

}  // namespace pawl::torture
