#include "apps/cli/context.hpp"

#include "apps/cli/help.hpp"
#include "base/duration.hpp"
#include "base/url.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace pawl::cli {

int exit_code_of(Errc code) {
  switch (code) {
    case Errc::busy:
    case Errc::timed_out: return not_acquired;
    case Errc::lost: return lock_lost;
    case Errc::overtaken:
    case Errc::not_owner: return answer_no;
    case Errc::outcome_unknown:
    case Errc::store_unavailable:
    case Errc::overloaded:
    case Errc::permission_denied: return store_failure;
    default: return own_failure;
  }
}

bool out_of_reach(Errc code) {
  return code == Errc::store_unavailable || code == Errc::outcome_unknown || code == Errc::overloaded;
}

Failure failure_of(const Error& error) { return {exit_code_of(error.code), error.message, out_of_reach(error.code)}; }

std::optional<std::string> Context::store() const {
  if (store_after && store_before && *store_after != *store_before) {
    throw Failure{own_failure, fmt::format("two different stores are named: --store {} and --store {}",
                                           base::redact_url(*store_before), base::redact_url(*store_after))};
  }
  if (store_after) return store_after;
  if (store_before) return store_before;
  const char* text = std::getenv("PAWL_STORE");
  if (text == nullptr) return std::nullopt;
  if (*text != '\0') return text;
  throw Failure{own_failure, "PAWL_STORE is empty; name a store, or unset it for the default store"};
}

Client open_client(const Context& context, ClientOptions options) {
  const std::optional<std::string> url = context.store();
  if (!url) return value_or_fail(Client::open(std::move(options)));
  return value_or_fail(Client::open(*url, std::move(options)));
}

void add_store_option(CLI::App& command, std::optional<std::string>& store) {
  command
      .add_option_function<std::string>(
          "--store", [&store](const std::string& url) { store = url; },
          "Where the locks are, as in file:///var/lib/app\nor redis://host:port/db; also: PAWL_STORE in "
          "the\nenvironment, the place for passwords")
      ->option_text("URL");
}

void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "For programs: an object whose \"version\" grows when\na field changes its meaning");
}

CLI::Option* add_name(CLI::App& command, std::string& name) {
  return command.add_option("NAME", name, "The lock: any text of up to 4096 bytes")->option_text(" ")->required();
}

CLI::Option* add_duration(CLI::App& command, const std::string& option, std::optional<Duration>& value,
                          const std::string& help) {
  const auto read = [option, &value](const std::string& text) {
    const Result<Duration> duration = base::parse_duration(text);
    if (!duration) throw CLI::ValidationError(option, duration.error().message);
    value = *duration;
  };
  return command.add_option_function<std::string>(option, read, help)->option_text("TIME");
}

CLI::Option* add_kind(CLI::App& command, std::optional<Kind>& kind) {
  const auto read = [&kind](const std::string& text) {
    const Result<Kind> parsed = parse_kind(text);
    if (!parsed) throw CLI::ValidationError("--kind", parsed.error().message);
    kind = *parsed;
  };
  return command
      .add_option_function<std::string>("--kind", read,
                                        "Only this kind of lock: mutex, rw, permits, election;\n"
                                        "kinds never meet, so one name can be several locks")
      ->option_text("KIND");
}

void add_scheme(CLI::App& command, std::string& scheme) {
  command.add_option("--scheme", scheme, "How the lock is built; \"pawl schemes\" lists them")->option_text("SCHEME");
}

void describe(CLI::App& command, const std::string& usage, const std::string& footer) {
  command.formatter(std::make_shared<Help>(usage));
  command.footer(footer);
}

}  // namespace pawl::cli
