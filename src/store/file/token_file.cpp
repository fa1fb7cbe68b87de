#include "store/file/token_file.hpp"

#include "base/lock_name.hpp"
#include "base/sha256.hpp"
#include "fencing/text.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace pawl::store::file {

namespace {

constexpr std::size_t slot_size = 4096;  // a sector's multiple: a torn write never reaches the other slot
constexpr int slots = 2;

std::string check_of(std::string_view text) { return base::sha256_hex(text).substr(0, 16); }

bool newer(const TokenMark& one, const TokenMark& other) {
  return std::tie(one.epoch.epoch, one.mark) > std::tie(other.epoch.epoch, other.mark);
}

}  // namespace

std::string TokenMark::to_text() const {
  const std::string text = fmt::format("{} mark={}", epoch.to_text(), mark);
  return fmt::format("{} check={}", text, check_of(text));
}

Result<std::optional<TokenMark>> TokenMark::parse(std::string_view text) {
  const std::size_t check = text.rfind(" check=");
  if (check == std::string_view::npos || text.substr(check + 7) != check_of(text.substr(0, check))) {
    return std::optional<TokenMark>();
  }
  const std::string_view body = text.substr(0, check);
  const std::size_t mark = body.rfind(" mark=");
  if (mark == std::string_view::npos) return std::optional<TokenMark>();
  TokenMark out;
  const std::string_view digits = body.substr(mark + 6);
  if (!fencing::parse_number(digits, out.mark)) return std::optional<TokenMark>();
  Result<fencing::EpochRecord> epoch = fencing::EpochRecord::parse(body.substr(0, mark));
  if (epoch.code() == Errc::unsupported) return epoch.error();
  if (!epoch) return std::optional<TokenMark>();
  out.epoch = std::move(*epoch);
  return std::optional<TokenMark>(std::move(out));
}

Result<TokenFile> TokenFile::open(const Folder& folder) {
  Result<Folder::File> file = folder.open_file("tokens");
  if (!file) return file.error();
  TokenFile tokens(std::move(file->fd), folder.shown("tokens"));
  if (file->size < off_t{slots * slot_size}) {
    if (auto room = allocate(tokens.fd_, slots * slot_size, tokens.shown_); !room) return room.error();
  }
  tokens.identity_ = fmt::format("inode-{}", file->inode);
  return tokens;
}

Result<std::string> TokenFile::read_slot(int slot) const {
  std::string text(slot_size, '\0');
  const ssize_t size =
      ::pread(fd_.get(), text.data(), text.size(), static_cast<off_t>(slot) * static_cast<off_t>(slot_size));
  if (size < 0) return system_failure("read", shown_, errno);
  text.resize(static_cast<std::size_t>(size));
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

Result<std::optional<TokenMark>> TokenFile::read() const {
  std::optional<TokenMark> newest;
  bool something = false;
  for (int slot = 0; slot < slots; ++slot) {
    const Result<std::string> text = read_slot(slot);
    if (!text) return text.error();
    something = something || !text->empty();
    Result<std::optional<TokenMark>> mark = TokenMark::parse(*text);
    if (!mark) return {mark.code(), fmt::format("\"{}\": {}", base::printable(shown_), mark.error().message)};
    if (*mark && (!newest || newer(**mark, *newest))) newest = std::move(*mark);
  }
  if (newest || !something) return newest;
  return Error{
      Errc::store_unavailable,
      fmt::format("\"{}\" is damaged: bring it back from a backup and run `pawl epoch new`, or remove it while "
                  "nobody uses the folder (the tokens then begin a new epoch)",
                  base::printable(shown_))};
}

Result<void> TokenFile::write(const TokenMark& mark) {
  const auto read_mark = [this](int slot) -> Result<std::optional<TokenMark>> {
    const Result<std::string> text = read_slot(slot);
    return text ? TokenMark::parse(*text) : text.error();
  };
  const Result<std::optional<TokenMark>> first = read_mark(0);
  const Result<std::optional<TokenMark>> second = read_mark(1);
  if (!first || !second) return first ? second.error() : first.error();
  const bool first_is_newest = *first && (!*second || newer(**first, **second));
  const off_t target = first_is_newest ? slot_size : 0;
  std::string bytes = mark.to_text();
  bytes.resize(slot_size, '\0');
  const ssize_t size = ::pwrite(fd_.get(), bytes.data(), bytes.size(), target);
  if (size != static_cast<ssize_t>(bytes.size())) return system_failure("write", shown_, size < 0 ? errno : ENOSPC);
  if (::fdatasync(fd_.get()) != 0) return system_failure("sync", shown_, errno);
  return {};
}

bool TokenFile::gone() const {
  struct stat status {};
  return ::fstat(fd_.get(), &status) == 0 && status.st_nlink == 0;
}

}  // namespace pawl::store::file
