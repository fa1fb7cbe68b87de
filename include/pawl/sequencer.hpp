#pragma once

#include <pawl/token.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// What sort of lock a name stands for. Kinds never meet: Mutex("a") and Election("a") are two locks.
enum class Kind : std::uint8_t { mutex, rw, permits, election };

enum class Mode : std::uint8_t { exclusive, shared };

std::string_view to_string(Kind) noexcept;
std::string_view to_string(Mode) noexcept;
Result<Kind> parse_kind(std::string_view text);
Result<Mode> parse_mode(std::string_view text);

/// The text form of a hold that travels with requests (Chubby's sequencer).
/// Text: pawl1.<store id>.<kind>.<mode>.<slot or ->.<token>.<encoded name>
struct Sequencer {
  std::uint64_t store_id = 0;
  Kind kind = Kind::mutex;
  Mode mode = Mode::exclusive;
  std::optional<std::uint32_t> slot = {};  ///< which permit, for semaphores
  Token token = {};
  std::string name = {};  ///< the lock's name as given, any bytes

  std::string to_string() const;
  static Result<Sequencer> parse(std::string_view text);

  friend bool operator==(const Sequencer&, const Sequencer&) = default;
};

}  // namespace pawl
