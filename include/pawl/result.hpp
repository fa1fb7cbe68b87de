#pragma once

#include <pawl/error.hpp>

#include <tl/expected.hpp>

#include <type_traits>
#include <utility>

namespace pawl {

/// A value or an Error. True when there is a value; `value()` throws pawl::Exception otherwise.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result(Error error) : Base(tl::unexpected<Error>(std::move(error))) {}
  Result(Errc code, std::string message) : Result(Error{code, std::move(message)}) {}

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
