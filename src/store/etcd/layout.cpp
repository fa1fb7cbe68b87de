#include "store/etcd/layout.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"

#include <charconv>

#include <fmt/format.h>

namespace pawl::store::etcd {

namespace {

constexpr std::size_t longest_name = 1024;
constexpr std::string_view reader = "r.";

std::string lease_text(std::int64_t lease) { return fmt::format("{:x}", lease); }

}  // namespace

std::string Layout::session(std::int64_t lease) const { return prefix_ + "sessions/" + lease_text(lease); }

std::string Layout::folder(const LockKey& key) const {
  if (raw_names_) return key.name.bytes() + "/";
  return fmt::format("{}{}/{}/", folders(), to_string(key.kind), base::fit_name(key.name.bytes(), longest_name));
}

std::string Layout::key(const LockKey& lock, Mode mode, std::int64_t lease, ClaimId claim) const {
  const std::string_view mark = mode == Mode::shared ? reader : "";
  return fmt::format("{}{}{}.{}", folder(lock), mark, lease_text(lease), to_string(claim));
}

std::string Layout::candidates_of(const std::string& folder) const {
  return prefix_ + "candidates/" + base::fit_name(folder, longest_name) + "/";
}

std::string Layout::reigns(const LockKey& lock) const {
  return prefix_ + "reigns/" + base::fit_name(folder(lock), longest_name);
}

std::optional<std::string> Layout::tail(const LockKey& lock) const {
  if (raw_names_ || lock.kind != Kind::mutex) return std::nullopt;
  return prefix_ + "tails/" + base::fit_name(folder(lock), longest_name);
}

bool Layout::hides_name(const LockKey& lock) const {
  return !raw_names_ && base::fit_name(lock.name.bytes(), longest_name) != base::encode_name(lock.name.bytes());
}

std::optional<KeyOwner> owner_of_key(std::string_view rest) {
  KeyOwner owner;
  if (rest.starts_with(reader)) {
    owner.mode = Mode::shared;
    rest.remove_prefix(reader.size());
  }
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view lease = rest.substr(0, dot);
  const auto [end, error] = std::from_chars(lease.data(), lease.data() + lease.size(), owner.lease, 16);
  if (error != std::errc() || end != lease.data() + lease.size() || owner.lease <= 0) return std::nullopt;
  if (lease_text(owner.lease) != lease) return std::nullopt;
  if (!base::parse_hex(rest.substr(dot + 1), owner.claim.high, owner.claim.low)) return std::nullopt;
  return owner;
}

std::optional<KeyPath> path_of_key(std::string_view behind_folders) {
  const std::size_t kind_end = behind_folders.find('/');
  if (kind_end == std::string_view::npos) return std::nullopt;
  const std::size_t name_end = behind_folders.find('/', kind_end + 1);
  if (name_end == std::string_view::npos) return std::nullopt;
  const Result<Kind> kind = parse_kind(behind_folders.substr(0, kind_end));
  if (!kind) return std::nullopt;
  KeyPath path;
  path.kind = *kind;
  path.encoded_name = behind_folders.substr(kind_end + 1, name_end - kind_end - 1);
  path.rest = behind_folders.substr(name_end + 1);
  return path;
}

KeyRange all_in(const std::string& folder) {
  std::string end = folder;
  ++end.back();  // of a slash
  return {folder, std::move(end)};
}

KeyRange blocking(const std::string& folder, Mode mode) {
  if (mode == Mode::exclusive) return all_in(folder);
  return {folder, folder + std::string(reader)};
}

Result<void> check_kind(Kind kind, bool raw_names) {
  if (!raw_names || kind != Kind::permits) return {};
  return Error{Errc::unsupported, "with names=raw there are no semaphores: no other library has them on etcd"};
}

}  // namespace pawl::store::etcd
