#include "apps/cli/run/environment.hpp"

#include "base/url.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

namespace pawl::cli {

namespace {

constexpr std::size_t longest_variable = std::size_t{128} * 1024;  // the kernel's MAX_ARG_STRLEN, with the final zero

constexpr std::string_view ours[] = {"PAWL_STORE",     "PAWL_LOCK",       "PAWL_TOKEN",
                                     "PAWL_SEQUENCER", "PAWL_SEQUENCERS", "PAWL_VALUE"};

/// Nothing of a pawl around us: the command would take it for its own.
std::vector<std::string> inherited_environment() {
  std::vector<std::string> out;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view key = text.substr(0, text.find('='));
    if (std::find(std::begin(ours), std::end(ours), key) == std::end(ours)) {
      out.emplace_back(text);
    }
  }
  return out;
}

/// The URL without what stands between the user's name and the @.
std::string without_password(std::string url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
  const std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.find(':', begin);
  // Without a user there is nothing left before the @.
  return colon == begin ? url.erase(begin, at + 1 - begin) : url.erase(colon, at - colon);
}

/// A descriptor that exec keeps, high enough for scripts to have their own; -1: the kernel has refused.
int sealed_file(std::string_view text) {
  constexpr int out_of_the_way = 100;
  const int low = ::memfd_create("pawl-password", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (low < 0) return -1;
  const bool written = ::write(low, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool sealed = ::fcntl(low, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0;
  const int file = written && sealed ? ::fcntl(low, F_DUPFD, out_of_the_way) : -1;
  ::close(low);
  return file;
}

void add_option(std::string& url, const std::string& option) {
  url += (url.find('?') == std::string::npos ? '?' : '&') + option;
}

}  // namespace

std::string store_for_child(std::string text, std::string_view scheme) {
  const Result<base::Url> url = base::Url::parse(text);
  if (!url) return base::redact_url(text);
  base::UrlOptions options(*url);
  if (!scheme.empty() && !options.text("scheme")) add_option(text, fmt::format("scheme={}", scheme));
  if (!url->credentials) return text;
  const base::Credentials::Exposed words = url->credentials->expose();
  if (!words.password) return text;
  text = without_password(std::move(text));
  const int file = sealed_file(*words.password);
  if (file >= 0) add_option(text, fmt::format("password_file=/proc/self/fd/{}", file));
  return text;
}

std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value, const std::string& store) {
  std::vector<std::string> out = inherited_environment();
  out.push_back("PAWL_STORE=" + store);
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
