#include <pawl/observer.hpp>

namespace pawl {

std::string_view to_string(EventType type) noexcept {
  switch (type) {
    case EventType::waiting: return "waiting";
    case EventType::granted: return "granted";
    case EventType::released: return "released";
    case EventType::abandoned: return "abandoned";
    case EventType::jeopardy: return "jeopardy";
    case EventType::safe: return "safe";
    case EventType::lost: return "lost";
    case EventType::undone: return "undone";
    case EventType::unfinished: return "unfinished";
    case EventType::reconnecting: return "reconnecting";
    case EventType::dropped: return "dropped";
    case EventType::other_kind: return "other_kind";
  }
  return "unknown";
}

}  // namespace pawl
