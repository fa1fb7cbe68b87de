#include "apps/cli/table.hpp"

#include "base/duration.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::cli {

using namespace std::chrono_literals;

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut_to(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  const std::string dots(std::min<std::size_t>(columns, 3), '.');
  std::size_t left = columns - dots.size();
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins_character = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins_character && left-- == 0) break;
  }
  return text.substr(0, end) + dots;
}

std::string format_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - width_of(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string format_owner(const Owner& owner) {
  if (owner.foreign) return "a client of another library";
  if (owner.host.empty()) return "not named";
  return fmt::format("{}, pid {}", base::printable(owner.host), owner.pid);
}

std::string format_age(Duration age) {
  if (age < 10s) return base::format_duration(std::chrono::floor<std::chrono::milliseconds>(age));
  return base::format_duration(std::chrono::floor<std::chrono::seconds>(age));
}

}  // namespace pawl::cli
