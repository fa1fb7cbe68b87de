#include "apps/cli/torture/scene.hpp"

#include <time.h>

#include <sstream>

namespace pawl::torture {

namespace {

std::string joined(const std::vector<Kind>& kinds) {
  std::string text;
  for (const Kind kind : kinds) text += (text.empty() ? "" : ",") + std::string(to_string(kind));
  return text;
}

std::vector<Kind> split(const std::string& text) {
  std::vector<Kind> kinds;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) kinds.push_back(parse_kind(word).value());
  return kinds;
}

}  // namespace

Nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * Nanoseconds{1'000'000'000} + time.tv_nsec;
}

void Folder::make() const {
  for (const char* part : {"events", "fences", "resources"}) std::filesystem::create_directories(path / part);
}

std::vector<std::string> Orders::words() const {
  return {folder.path.string(),
          worker,
          std::to_string(seed),
          run,
          joined(kinds),
          std::to_string(lease.count()),
          scheme.empty() ? "-" : scheme,
          std::to_string(static_cast<int>(flaw)),
          forgets ? "forgets" : "-"};
}

Orders Orders::parse(const std::vector<std::string>& words) {
  Orders orders;
  orders.folder.path = words.at(0);
  orders.worker = words.at(1);
  orders.seed = std::stoull(words.at(2));
  orders.run = words.at(3);
  orders.kinds = split(words.at(4));
  orders.lease = Milliseconds(std::stoll(words.at(5)));
  orders.scheme = words.at(6) == "-" ? "" : words.at(6);
  orders.flaw = static_cast<Flaw>(std::stoi(words.at(7)));
  orders.forgets = words.at(8) == "forgets";
  return orders;
}

std::vector<LockSpec> Orders::locks() const {
  std::vector<LockSpec> locks;
  for (const Kind kind : kinds) {
    const std::string name = "torture-" + run + "-" + std::string(to_string(kind));
    locks.push_back({name, kind, kind == Kind::permits ? 3u : 0u});
    if (kind == Kind::mutex) locks.push_back({name + "-2", kind, 0});
  }
  return locks;
}

}  // namespace pawl::torture
