#include "tests/simulation/simulation.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace pawl::test {

namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t Deeds::*>, 16> fields = {{
    {"grants", &Deeds::grants},
    {"shared", &Deeds::shared},
    {"of permits", &Deeds::permits},
    {"elections", &Deeds::elected},
    {"passed on locally", &Deeds::local_passes},
    {"lost", &Deeds::lost},
    {"undone", &Deeds::undone},
    {"downgrades", &Deeds::downgrades},
    {"several together", &Deeds::together},
    {"changes told to observers of elections", &Deeds::told},
    {"events", &Deeds::events},
    {"checks", &Deeds::checks},
    {"asked back or taken away", &Deeds::recalled},
    {"new epochs", &Deeds::epochs},
    {"stores that forgot", &Deeds::forgotten},
    {"closed", &Deeds::closed},
}};

}  // namespace

Deeds& Deeds::operator+=(const Deeds& other) {
  for (const auto& [name, field] : fields) this->*field += other.*field;
  return *this;
}

std::string Deeds::to_string() const {
  std::string text;
  for (const auto& [name, field] : fields) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", this->*field, name);
  return text;
}

}  // namespace pawl::test
