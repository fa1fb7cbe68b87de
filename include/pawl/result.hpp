#pragma once

#include <pawl/error.hpp>

#include <tl/expected.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace pawl {

template <class T>
class Result;

namespace detail {
template <class R, class T>
inline constexpr bool is_other_result = false;
template <class U, class T>
inline constexpr bool is_other_result<Result<U>, T> = !std::is_same_v<U, T>;
}  // namespace detail

/// A value or an Error. True when there is a value; `value()` throws pawl::Exception otherwise.
/// Limit: a Result<bool> is true when there is an answer, be the answer false: ask `*result`.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result(Error error) : Base(tl::unexpected<Error>(std::move(error))) {}
  Result(Errc code, std::string message) : Result(Error{code, std::move(message)}) {}
  /// What map() and and_then() give back. A template, so that nothing is converted on the way.
  template <class B>
    requires std::same_as<std::remove_cvref_t<B>, Base>
  Result(B&& base) : Base(std::forward<B>(base)) {}
  /// Without this, Result<bool>(some_result) would keep whether there was a value and drop the error.
  template <class R>
    requires(std::same_as<T, bool> && detail::is_other_result<std::remove_cvref_t<R>, bool>)
  Result(R&&) = delete;

  Errc code() const noexcept { return this->has_value() ? Errc{} : this->error().code; }

  template <class U = T>
  std::enable_if_t<!std::is_void_v<U>, U&> value() & {
    demand();
    return **this;
  }
  template <class U = T>
  std::enable_if_t<!std::is_void_v<U>, const U&> value() const& {
    demand();
    return **this;
  }
  template <class U = T>
  std::enable_if_t<!std::is_void_v<U>, U&&> value() && {
    demand();
    return std::move(**this);
  }
  template <class U = T>
  std::enable_if_t<std::is_void_v<U>> value() const {
    demand();
  }

 private:
  void demand() const {
    if (!this->has_value()) throw Exception(this->error());
  }
};

}  // namespace pawl
