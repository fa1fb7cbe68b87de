#pragma once

#include "fencing/epoch.hpp"
#include "store/file/folder.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::store::file {

/// What outlives the boot: which life of the store this is, and up to where tokens may have been handed out.
/// Text: the epoch record, ` mark=<decimal> check=<16 hex digits>`.
struct TokenMark {
  fencing::EpochRecord epoch = {};
  std::uint64_t mark = 0;

  std::string to_text() const;
  /// Nothing: the text is not whole.
  /// Errors: unsupported for a layout newer than ours.
  static Result<std::optional<TokenMark>> parse(std::string_view text);

  friend bool operator==(const TokenMark&, const TokenMark&) = default;
};

/// The file `tokens`: two slots that are written in turn and in place, so that a crash in the middle of a write leaves
/// the other one, and a full disk does not matter.
/// Promise: after write() has answered, no crash takes the mark back. (The name of a new file: after Folder::sync().)
/// Threads: one at a time, of all processes.
class TokenFile {
 public:
  static Result<TokenFile> open(const Folder& folder);

  /// The newest whole slot; nothing: a new file.
  /// Errors: store_unavailable when something is there and nothing of it is whole; unsupported for a newer layout.
  Result<std::optional<TokenMark>> read() const;
  /// Durable when it returns. Both the epoch and the mark only ever grow.
  Result<void> write(const TokenMark& mark);

  /// By what the file knows itself: a copy, or one that a backup brought back, is another file.
  const std::string& identity() const { return identity_; }
  /// Is it no longer the folder's file?
  bool gone() const;

 private:
  TokenFile(Fd fd, std::string shown) : fd_(std::move(fd)), shown_(std::move(shown)) {}
  Result<std::string> read_slot(int slot) const;

  Fd fd_;
  std::string shown_;
  std::string identity_ = {};
};

}  // namespace pawl::store::file
