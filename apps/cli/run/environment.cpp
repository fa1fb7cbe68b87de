#include "apps/cli/run/environment.hpp"

#include "base/url.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

namespace pawl::cli {

namespace {

constexpr std::size_t longest_variable = std::size_t{128} * 1024;  // the kernel's MAX_ARG_STRLEN, with the final zero

constexpr std::string_view ours[] = {"PAWL_LOCK", "PAWL_TOKEN", "PAWL_SEQUENCER", "PAWL_SEQUENCERS", "PAWL_VALUE"};

/// Nothing of a pawl around us: the command would take it for its own.
std::vector<std::string> inherited_environment() {
  std::vector<std::string> out;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view key = text.substr(0, text.find('='));
    if (key == "PAWL_STORE") {
      out.push_back("PAWL_STORE=" + without_password(text.substr(key.size() + 1)));
    } else if (std::find(std::begin(ours), std::end(ours), key) == std::end(ours)) {
      out.emplace_back(text);
    }
  }
  return out;
}

}  // namespace

std::string without_password(std::string_view text) {
  if (!base::Url::parse(text)) return base::redact_url(text);
  std::string url(text);
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t end = std::min(url.find_first_of("/?", begin + 3), url.size());
  const std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.find(':', begin + 3);
  if (at == std::string::npos || at < begin + 3 || colon > at) return url;
  return url.erase(colon, at - colon);
}

std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value) {
  std::vector<std::string> out = inherited_environment();
  const Sequencer& first = sequencers.front();
  out.push_back("PAWL_LOCK=" + first.name);
  out.push_back("PAWL_TOKEN=" + first.token.to_string());
  out.push_back("PAWL_SEQUENCER=" + first.to_string());
  if (value) out.push_back("PAWL_VALUE=" + *value);
  std::string all = "PAWL_SEQUENCERS=";
  for (const Sequencer& sequencer : sequencers) all += (all.back() == '=' ? "" : " ") + sequencer.to_string();
  if (all.size() < longest_variable) {
    out.push_back(std::move(all));
  } else {
    fmt::print(stderr, "pawl: PAWL_SEQUENCERS is not set: {} of them are longer than a variable can be\n",
               sequencers.size());
  }
  return out;
}

}  // namespace pawl::cli
