#pragma once

#include <pawl/error.hpp>
#include <pawl/options.hpp>
#include <pawl/sequencer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

enum class EventType : std::uint8_t {
  waiting,       ///< the store has queued us behind others
  granted,       ///< a hold begins
  released,      ///< a hold ended cleanly
  abandoned,     ///< a thread ended while it held through lock(): released for it
  jeopardy,      ///< the lease could not be confirmed in time, but has not run out yet
  safe,          ///< confirmed again, out of jeopardy
  lost,          ///< a hold ended because its lease ran out or it was taken away
  undone,        ///< a request of unknown outcome has been undone at the store
  unfinished,    ///< something sent without waiting could not be done; the message says what
  reconnecting,  ///< the connection to the store is gone; pawl tries again
  dropped,       ///< the observer is too slow: 20,000 events waited for it, and later ones were dropped
  /// Another kind of lock of that name is in use, and the two do not exclude each other: Mutex("a") and SharedMutex("a"),
  /// say. Once for each lock of a client. Found by a look at the store after a grant, where there is an observer: for ten
  /// grants at once, and for one more each second.
  other_kind,
};

std::string_view to_string(EventType) noexcept;

/// Something that happened to a lock or to the client's connection.
struct Event {
  EventType type{};
  Kind kind = Kind::mutex;
  std::string name = {};     ///< the lock; empty where the event concerns the whole client
  Token token = {};          ///< for granted, released, lost
  Duration elapsed = {};     ///< granted: how long we waited; released, lost: how long we held
  std::string message = {};  ///< a sentence for people
};

}  // namespace pawl
