#include "tests/simulation/cuts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pawl::test {

Cuts Cuts::parse(std::string_view text) {
  Cuts cuts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    cuts.parts_.emplace(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return cuts;
}

std::string Cuts::text() const { return fmt::format("{}", fmt::join(parts_, ",")); }

Cuts Cuts::with(std::string part) const {
  Cuts cuts = *this;
  cuts.parts_.insert(std::move(part));
  return cuts;
}

}  // namespace pawl::test
