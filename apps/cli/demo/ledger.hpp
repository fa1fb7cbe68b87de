#pragma once

#include <pawl/sequencer.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::cli {

/// What the lock of the demo guards: a file with one line per entry, `token worker amount total`.
/// The total is read from the last line and written with the next, so two writers at a time would show.
class Ledger {
 public:
  explicit Ledger(std::filesystem::path file) : file_(std::move(file)) {}

  /// Errors: store_unavailable, with the system's reason.
  Result<void> add(const Token& token, const std::string& worker, std::int64_t amount) const;

  struct Audit {
    std::int64_t entries = 0;
    std::int64_t total = 0;  ///< as the last line has it
    bool adds_up = true;     ///< every total is the one before plus the amount
    bool in_order = true;    ///< every token is larger than the one before
  };
  Audit audit() const;

 private:
  const std::filesystem::path file_;
};

}  // namespace pawl::cli
