#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace pawl {

/// Why a call did not do what was asked, named for what the caller does next.
enum class Errc {
  busy = 1,           ///< somebody else holds it: do something else, or wait
  timed_out,          ///< the wait is over and the lock was not granted
  cancelled,          ///< the caller's stop_token asked to give up
  lost,               ///< the lease ran out, or the grant was taken away: stop working
  overtaken,          ///< a later holder has been here: this token is stale
  outcome_unknown,    ///< the store may or may not have done it; pawl goes on undoing it
  store_unavailable,  ///< the store cannot be reached or cannot serve
  overloaded,         ///< a limit of the store or of this client is reached: try later
  closed,             ///< the client was closed, or belongs to the process before fork()
  not_owner,          ///< this hold was released already, or never belonged to the caller
  would_deadlock,     ///< waiting here could never end
  unsupported,        ///< this store or scheme cannot do it
  invalid_argument,   ///< the input is wrong: fix the call
  permission_denied,  ///< the store refuses this user
  other_store,        ///< a fence knows another store than this token comes from: check which store is used
};

/// The name as it is written in code: "timed_out".
std::string_view to_string(Errc) noexcept;

const std::error_category& error_category() noexcept;
std::error_code make_error_code(Errc) noexcept;

/// An error as a value: what kind, and one sentence that says what happened and where.
struct Error {
  Errc code{};
  std::string message{};

  /// "timed_out: lock "billing" was not granted within 2s"
  std::string to_string() const;
};

/// Thrown by the throwing half of the face (`lock()`, `Client{url}`, `Result::value()`).
class Exception : public std::system_error {
 public:
  explicit Exception(const Error& error);

  Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  /// Error::to_string()
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // a string whose copies never throw, as an exception's must not
};

}  // namespace pawl

template <>
struct std::is_error_code_enum<pawl::Errc> : std::true_type {};
