#pragma once

#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

/// User and password. Cannot be printed: the only way to them is expose(), which is easy to search for.
/// Promise: every copy wipes its memory when it ends or is moved from.
class Credentials {
 public:
  struct Exposed {
    std::string_view user;
    std::optional<std::string_view> password;
  };

  explicit Credentials(const Exposed& words);
  Credentials(const Credentials& other) = default;
  Credentials(Credentials&& other) noexcept;
  Credentials& operator=(const Credentials& other);
  Credentials& operator=(Credentials&& other) noexcept;
  ~Credentials();

  /// Valid while this object lives and is not assigned to.
  Exposed expose() const;

 private:
  void wipe() noexcept;

  std::string user_;
  std::string password_;
  bool has_password_ = false;
};

/// Where a store is: `memory:`, `memory:NAME`, `file:///path`, `redis://user:pw@h1:1,h2:2/path?lease=30s`.
/// Percent-escapes are decoded everywhere. `+` is a plus.
/// Limit: stricter than RFC 3986: no fragment, no control bytes, every option has a value and stands once, and a `@`
///        that is not the one before the hosts is written %40 (file: paths aside), so that a password with a `/` in it
///        is refused and never taken for a path that may be printed. Options never hold a password.
struct Url {
  struct Host {
    std::string name;  ///< an IPv6 address without its brackets
    std::optional<std::uint16_t> port = {};
    friend bool operator==(const Host&, const Host&) = default;
  };
  struct Option {
    std::string key;
    std::string value;
    friend bool operator==(const Option&, const Option&) = default;
  };

  std::string scheme = {};     ///< lower case
  bool has_authority = false;  ///< `//` was there, be it empty as in file:///path
  std::optional<Credentials> credentials = {};
  std::vector<Host> hosts = {};
  std::string path = {};  ///< begins with `/` behind hosts; "NAME" of memory:NAME
  std::vector<Option> options = {};

  /// Errors: invalid_argument, with the text in it but never the credentials.
  static Result<Url> parse(std::string_view text);

  /// For people and logs: `***` in place of the credentials. Without those, parse() gives the same URL back.
  std::string redacted() const;
};

/// What parse() says of a text in its errors: whatever might be a credential in it is `***`, however wrong the text is.
std::string redact_url(std::string_view text);

/// Takes options out of a URL, each by name and type, and in the end tells which were not known.
/// Limit: the URL must outlive it.
class UrlOptions {
 public:
  explicit UrlOptions(const Url& url) : url_(&url) {}

  std::optional<std::string> text(std::string_view key);
  /// Errors: invalid_argument when it is there and is no duration.
  Result<std::optional<Duration>> duration(std::string_view key);
  /// Errors: invalid_argument when it is there and is no number, or below 0.
  Result<std::optional<std::int64_t>> number(std::string_view key);
  /// The same of a text that stands elsewhere in the URL.
  Result<std::int64_t> number_in(const std::string& text, std::string_view what) const;
  /// That the URL is wrong: names it, redacted, and says why.
  Error wrong(std::string_view why) const;
  /// Errors: invalid_argument for the first option that nobody asked for; names those that were asked for.
  Result<void> finish() const;

 private:
  const Url* url_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace pawl::base
