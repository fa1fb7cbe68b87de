// What a URL says of a folder.

#include "store/file/file_store.hpp"

#include <optional>
#include <string>

namespace pawl::store::file {

namespace {

Result<std::optional<mode_t>> read_mode(base::UrlOptions& options) {
  const std::optional<std::string> text = options.text("mode");
  if (!text) return std::optional<mode_t>();
  if (*text == "0700" || *text == "700") return std::optional<mode_t>(0700);
  if (*text == "0770" || *text == "770") return std::optional<mode_t>(0770);
  return options.wrong("mode is 0700 (this user only) or 0770 (the folder's group as well)");
}

}  // namespace

Result<FolderOptions> read_config(const base::Url& url, base::UrlOptions& options) {
  if (!url.hosts.empty()) return options.wrong("a file store has no host; write file:///path, with three slashes");
  if (!url.path.starts_with('/')) return options.wrong("a file store needs a whole path, as in file:///var/lib/app");
  if (url.path.find('\0') != std::string::npos) return options.wrong("the path has a zero byte in it");
  const Result<std::optional<mode_t>> mode = read_mode(options);
  if (!mode) return mode.error();
  const std::string network = options.text("network").value_or("no");
  if (network != "no" && network != "yes") return options.wrong("network is yes or no");
  FolderOptions folder;
  folder.path = url.path;
  while (folder.path.size() > 1 && folder.path.ends_with('/')) folder.path.pop_back();
  folder.mode = *mode;
  folder.network = network == "yes";
  return folder;
}

}  // namespace pawl::store::file
