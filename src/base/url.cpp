#include "base/url.hpp"

#include "base/duration.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace pawl::base {

namespace {

constexpr auto npos = std::string_view::npos;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }
constexpr bool in_scheme(char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; }

void wipe_text(std::string& text) noexcept {
  // All of it: a moved-from or shortened string keeps its old bytes behind its end.
  text.resize(text.capacity());
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

/// A reason without the text: Url::parse adds that, redacted.
Error because(std::string why) { return {Errc::invalid_argument, std::move(why)}; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

int hex_digit(char c) {
  c = lower(c);
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Result<std::string> decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());  // it never moves, so that a password leaves no copies behind
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return because("a % is not followed by two hex digits; write % itself as %25");
    if ((high | low) == 0) return because("%00 cannot be part of it");
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return out;
}

std::string encode(std::string_view text, std::string_view also_plain) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        is_letter(c) || is_digit(c) || std::string_view("-_.~").find(c) != npos || also_plain.find(c) != npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Does an option of this name hold a secret? `password_file` does not, `password` does.
bool is_secret(std::string_view key) {
  const std::string name = lower(key);
  if (name.ends_with("_file")) return false;
  const auto has = [&](std::string_view part) { return name.find(part) != npos; };
  return has("pass") || has("pwd") || has("secret");
}

/// How much of the text is `scheme:` or `scheme://`; 0 without the slashes, as then a user name may look like a scheme.
std::size_t safe_beginning(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), in_scheme) - text.begin();
  return text.substr(end).starts_with("://") ? static_cast<std::size_t>(end) + 3 : 0;
}

/// Without a `@` the host may be missing: `redis://user:secret`. What stands in a port's place and is none, is hidden.
std::string hide_bad_port(std::string text, std::size_t begin) {
  if (begin == 0) return text;
  const std::size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  for (std::size_t colon = text.find(':', begin); colon < end; colon = text.find(':', colon + 1)) {
    const bool in_brackets =
        text.rfind('[', colon) != npos && text.rfind('[', colon) >= begin && text.find(']', colon) < end;
    const auto after = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(), is_digit);
    const bool number = after == text.end() || std::string_view(",/?#").find(*after) != npos;
    if (!in_brackets && !number) return text.substr(0, colon + 1) + "***";
  }
  return text;
}

/// Cuts behind the first option that is secret by its name; a value may contain anything, so nothing after it is safe.
std::string hide_secret_options(std::string text) {
  for (std::size_t mark = text.find_first_of("?&#"); mark != npos; mark = text.find_first_of("?&#", mark + 1)) {
    if (text[mark] == '#') return text.substr(0, mark + 1) + "***";
    const std::size_t equals = text.find_first_of("=&", mark + 1);
    const auto key = std::string_view(text).substr(mark + 1, equals == npos ? npos : equals - mark - 1);
    if (equals != npos && (is_secret(key) || key.find('%') != npos)) return text.substr(0, equals + 1) + "***";
  }
  return text;
}

Result<Credentials> read_credentials(std::string_view text) {
  const std::size_t colon = text.find(':');
  auto user = decode(text.substr(0, colon));
  if (!user) return user.error();
  auto password = decode(colon == npos ? std::string_view{} : text.substr(colon + 1));
  if (!password) return password.error();
  Credentials out({*user, colon == npos ? std::optional<std::string_view>{} : *password});
  wipe_text(*user);
  wipe_text(*password);
  return out;
}

Result<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || port == 0) return because("a port is a number from 1 to 65535");
  return port;
}

/// "[::1]:80" without the first bracket: the address, and ":80" is left in `rest`.
Result<std::string> read_ipv6(std::string_view& rest) {
  const std::size_t close = rest.find(']');
  if (close == npos) return because("a [ is never closed");
  auto name = decode(rest.substr(0, close));
  rest.remove_prefix(close + 1);
  if (!name) return name;
  const std::string address = name->substr(0, name->find('%'));
  if (address.find(':') == npos || address.find_first_not_of("0123456789abcdefABCDEF:.") != npos) {
    return because("what stands in [ ] is not an IPv6 address");
  }
  return name;
}

Result<Url::Host> read_host(std::string_view text) {
  std::string_view port = text;
  Result<std::string> name = std::string();
  if (text.starts_with('[')) {
    port.remove_prefix(1);
    name = read_ipv6(port);
  } else {
    port = text.find(':') == npos ? std::string_view{} : text.substr(text.find(':'));
    name = decode(text.substr(0, text.size() - port.size()));
  }
  if (!name) return name.error();
  if (name->empty()) return because("a host has no name");
  if (!text.starts_with('[') && name->find(':') != npos) {
    return because("a host's name has a colon in it; write an IPv6 address in [ ]");
  }
  if (std::any_of(name->begin(), name->end(),
                  [](char c) { return is_control(c) || c == ' ' || c == '[' || c == ']'; })) {
    return because("a host's name has a byte that no host's name has");
  }
  Url::Host host{std::move(*name)};
  if (port.empty()) return host;
  if (!port.starts_with(':')) return because("a ] is followed by something other than a port");
  if (port.find(':', 1) != npos) return because("a host has two colons; write an IPv6 address in [ ]");
  const auto number = read_port(port.substr(1));
  if (!number) return number.error();
  host.port = *number;
  return host;
}

Result<void> read_authority(std::string_view text, Url& url) {
  if (const std::size_t at = text.rfind('@'); at != npos) {
    auto credentials = read_credentials(text.substr(0, at));
    if (!credentials) return credentials.error();
    url.credentials = std::move(*credentials);
    text.remove_prefix(at + 1);
    if (text.empty()) return because("no host follows the @");
  }
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    auto host = read_host(text.substr(0, comma));
    if (!host) return host.error();
    url.hosts.push_back(std::move(*host));
    if (comma + 1 == text.size()) return because("no host follows the last comma");
    text = comma == npos ? std::string_view{} : text.substr(comma + 1);
  }
  return {};
}

Result<void> read_option(std::string_view text, Url& url) {
  const std::size_t equals = text.find('=');
  if (text.empty() || equals == 0) return because("an option has no name");
  auto key = decode(text.substr(0, equals));
  if (!key) return key.error();
  if (is_secret(*key))
    return because("a password in an option is easily seen; use user:password@host or password_file=");
  if (equals == npos) return because(fmt::format("option \"{0}\" has no value; write {0}=...", printable(*key, 40)));
  auto value = decode(text.substr(equals + 1));
  if (!value) return value.error();
  for (const auto& option : url.options) {
    if (option.key == *key) return because(fmt::format("option \"{}\" is given twice", printable(*key, 40)));
  }
  url.options.push_back({std::move(*key), std::move(*value)});
  return {};
}

Result<void> read_options(std::string_view text, Url& url) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    if (auto done = read_option(text.substr(0, end), url); !done) return done;
    if (end + 1 == text.size()) return because("no option follows the last &");
    text = end == npos ? std::string_view{} : text.substr(end + 1);
  }
  return {};
}

Result<std::string> read_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto scheme = text.substr(0, colon);
  const bool valid =
      !scheme.empty() && is_letter(scheme.front()) && std::all_of(scheme.begin(), scheme.end(), in_scheme);
  if (colon == npos || !valid) return because("it does not begin with a store, like memory: or file:///path");
  return lower(scheme);
}

Result<Url> read_url(std::string_view text) {
  if (std::any_of(text.begin(), text.end(), is_control)) return because("it has a control byte in it");
  if (text.find('#') != npos) return because("it has a # in it; write that as %23");
  auto scheme = read_scheme(text);
  if (!scheme) return scheme.error();
  text.remove_prefix(scheme->size() + 1);

  Url url{.scheme = std::move(*scheme)};
  if (text.starts_with("//")) {
    url.has_authority = true;
    text.remove_prefix(2);
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    if (auto done = read_authority(text.substr(0, end), url); !done) return done.error();
    text.remove_prefix(end);
  }
  if (url.scheme != "file" && text.find('@') != npos) {
    return because("a @ stands outside of user:password@host; write it as %40, and a / in a password as %2F");
  }
  const std::size_t question = text.find('?');
  auto path = decode(text.substr(0, question));
  if (!path) return path.error();
  url.path = std::move(*path);
  if (question == npos) return url;
  if (auto done = read_options(text.substr(question + 1), url); !done) return done.error();
  return url;
}

std::string write_host(const Url::Host& host) {
  const bool ipv6 = host.name.find(':') != npos;
  std::string text = ipv6 ? "[" + encode(host.name, ":") + "]" : encode(host.name, "");
  return host.port ? fmt::format("{}:{}", text, *host.port) : text;
}

}  // namespace

Credentials::Credentials(const Exposed& words)
    : user_(words.user),
      password_(words.password.value_or(std::string_view{})),
      has_password_(words.password.has_value()) {}

Credentials::Credentials(Credentials&& other) noexcept
    : user_(std::move(other.user_)), password_(std::move(other.password_)), has_password_(other.has_password_) {
  other.wipe();
}

Credentials& Credentials::operator=(const Credentials& other) {
  if (this != &other) *this = Credentials(other);
  return *this;
}

Credentials& Credentials::operator=(Credentials&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  user_ = std::move(other.user_);
  password_ = std::move(other.password_);
  has_password_ = other.has_password_;
  other.wipe();
  return *this;
}

Credentials::~Credentials() { wipe(); }

Credentials::Exposed Credentials::expose() const {
  return {user_, has_password_ ? std::optional<std::string_view>(password_) : std::nullopt};
}

void Credentials::wipe() noexcept {
  wipe_text(user_);
  wipe_text(password_);
  has_password_ = false;
}

Result<Url> Url::parse(std::string_view text) {
  auto url = read_url(text);
  if (url) return url;
  return {url.error().code, fmt::format("\"{}\" is not a store URL: {}", redact_url(text), url.error().message)};
}

std::string Url::redacted() const {
  std::string out = scheme + (has_authority ? "://" : ":");
  if (credentials) out += "***@";
  for (std::size_t i = 0; i < hosts.size(); ++i) out += (i == 0 ? "" : ",") + write_host(hosts[i]);
  // Without hosts, two slashes at the beginning of a path would be read as if hosts followed.
  const bool like_hosts = !has_authority && path.starts_with("//");
  out += like_hosts ? "%2F" + encode(std::string_view(path).substr(1), "/:,+=") : encode(path, "/:,+=");
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto& [key, value] = options[i];
    out += (i == 0 ? "?" : "&") + encode(key, "") + "=" + encode(value, "/:,+");
  }
  return out;
}

std::string redact_url(std::string_view text) {
  const std::size_t begin = safe_beginning(text);
  // The last @ of all: a password with a raw @, / or ? in it must not show its tail.
  const std::size_t at = text.rfind('@');
  std::string out = at != npos ? std::string(text.substr(0, begin)) + "***" + std::string(text.substr(at))
                               : hide_bad_port(std::string(text), begin);
  return printable(hide_secret_options(std::move(out)), 200);
}

std::optional<std::string> UrlOptions::text(std::string_view key) {
  known_.emplace(key);
  for (const auto& option : url_->options) {
    if (option.key == key) return option.value;
  }
  return std::nullopt;
}

Result<std::optional<Duration>> UrlOptions::duration(std::string_view key) {
  const auto value = text(key);
  if (!value) return std::optional<Duration>{};
  const auto parsed = parse_duration(*value);
  if (parsed) return std::optional(*parsed);
  return {parsed.code(), fmt::format("option \"{}\" in {}: {}", key, url_->redacted(), parsed.error().message)};
}

Result<std::optional<std::int64_t>> UrlOptions::number(std::string_view key) {
  const auto value = text(key);
  if (!value) return std::optional<std::int64_t>{};
  const auto number = number_in(*value, key);
  if (!number) return number.error();
  return std::optional(*number);
}

Result<std::int64_t> UrlOptions::number_in(const std::string& text, std::string_view what) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || value < 0) return wrong(fmt::format("{} is a number", what));
  return value;
}

Error UrlOptions::wrong(std::string_view why) const {
  return {Errc::invalid_argument, fmt::format("{}: {}", url_->redacted(), why)};
}

Result<void> UrlOptions::finish() const {
  for (const auto& option : url_->options) {
    if (known_.contains(option.key)) continue;
    const auto known = known_.empty() ? "there are none" : fmt::format("known: {}", fmt::join(known_, ", "));
    return {Errc::invalid_argument,
            fmt::format("unknown option \"{}\" in {}; {}", printable(option.key, 40), url_->redacted(), known)};
  }
  return {};
}

}  // namespace pawl::base
