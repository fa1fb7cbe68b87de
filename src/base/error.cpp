#include <pawl/error.hpp>

#include <string>

namespace pawl {

namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "pawl"; }
  std::string message(int value) const override { return std::string(to_string(static_cast<Errc>(value))); }
  std::error_condition default_error_condition(int value) const noexcept override;
};

// So that `exception.code() == std::errc::resource_deadlock_would_occur` holds, as it does for std::mutex.
std::error_condition Category::default_error_condition(int value) const noexcept {
  switch (static_cast<Errc>(value)) {
    case Errc::busy: return std::errc::device_or_resource_busy;
    case Errc::timed_out: return std::errc::timed_out;
    case Errc::cancelled: return std::errc::operation_canceled;
    case Errc::not_owner: return std::errc::operation_not_permitted;
    case Errc::would_deadlock: return std::errc::resource_deadlock_would_occur;
    case Errc::unsupported: return std::errc::not_supported;
    case Errc::invalid_argument: return std::errc::invalid_argument;
    case Errc::permission_denied: return std::errc::permission_denied;
    default: return {value, *this};
  }
}

}  // namespace

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::busy: return "busy";
    case Errc::timed_out: return "timed_out";
    case Errc::cancelled: return "cancelled";
    case Errc::lost: return "lost";
    case Errc::overtaken: return "overtaken";
    case Errc::outcome_unknown: return "outcome_unknown";
    case Errc::store_unavailable: return "store_unavailable";
    case Errc::overloaded: return "overloaded";
    case Errc::closed: return "closed";
    case Errc::not_owner: return "not_owner";
    case Errc::would_deadlock: return "would_deadlock";
    case Errc::unsupported: return "unsupported";
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::permission_denied: return "permission_denied";
    case Errc::other_store: return "other_store";
  }
  return "unknown";
}

const std::error_category& error_category() noexcept {
  // Never destroyed: error codes may outlive every static.
  static const Category& category = *new Category;
  return category;
}

std::error_code make_error_code(Errc code) noexcept { return {static_cast<int>(code), error_category()}; }

std::string Error::to_string() const {
  std::string text(pawl::to_string(code));
  if (!message.empty()) text += ": " + message;
  return text;
}

Exception::Exception(const Error& error)
    : std::system_error(make_error_code(error.code), error.message), text_(error.to_string()) {}

}  // namespace pawl
