#pragma once

#include <pawl/lock_view.hpp>

#include <string>
#include <vector>

namespace pawl::cli {

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell, two blanks between them; the first row is the heading. Every line ends with
/// its last letter.
std::string format_table(const std::vector<Row>& rows);

/// The columns that a terminal needs for it: one for each character of UTF-8.
std::size_t width_of(const std::string& text);

/// Not wider than that: the end gives way to three dots.
std::string cut_to(const std::string& text, std::size_t columns);

/// "web1, pid 4711", "a client of another library", "somebody"; the label is apart.
std::string format_owner(const Owner& owner);

/// For people, to the second above a minute and to the millisecond below ten: "1.204s", "42s", "3m 12s".
std::string format_age(Duration age);

}  // namespace pawl::cli
