#include "base/duration.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace pawl::base {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};

constexpr std::array units = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
    Unit{"d", 86'400'000'000'000},
};

Error refused(std::string_view text, std::string_view why) {
  return {Errc::invalid_argument, fmt::format("\"{}\" is not a duration: {}", printable(text, 40), why)};
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const auto digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && !is_digit(text[size])) ++size;
  const auto letters = text.substr(0, size);
  text.remove_prefix(size);
  return letters;
}

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// sum * 10 + digit, or false when that leaves the range of Duration.
bool shift_in(std::int64_t& sum, char digit) {
  return !__builtin_mul_overflow(sum, std::int64_t{10}, &sum) && !__builtin_add_overflow(sum, digit - '0', &sum);
}

/// "5" behind the point, of a unit, in nanoseconds. False when that is not a whole number of them.
bool fraction_of(std::string_view digits, std::int64_t unit, std::int64_t& nanos) {
  __extension__ using Wide = __int128;  // 18 digits times a day do not fit into 64 bits
  while (digits.ends_with('0')) digits.remove_suffix(1);
  if (digits.size() > 18) return false;
  Wide sum = 0;
  Wide scale = 1;
  for (const char c : digits) {
    sum = sum * 10 + (c - '0');
    scale *= 10;
  }
  nanos = static_cast<std::int64_t>(sum * unit / scale);
  return sum * unit % scale == 0;
}

std::string with_fraction(std::int64_t nanos, const Unit& unit) {
  const std::int64_t thousandths = nanos % unit.nanos * 1000 / unit.nanos;
  std::string text = fmt::format("{}.{:03}", nanos / unit.nanos, thousandths);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text.append(unit.name);
}

std::string in_two_units(std::int64_t nanos, const Unit& large, const Unit& small) {
  const std::int64_t rest = nanos % large.nanos / small.nanos;
  const std::string text = fmt::format("{}{}", nanos / large.nanos, large.name);
  return rest == 0 ? text : fmt::format("{} {}{}", text, rest, small.name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  constexpr std::string_view right = "write a number and a unit (ns, us, ms, s, m, h, d), like 1500ms, 1.5s or 1h30m";
  constexpr std::string_view too_long = "it is longer than 292 years";
  std::string_view rest = text;
  if (rest.starts_with('-')) return refused(text, "it must not be negative");
  std::int64_t nanos = 0;
  std::int64_t last_unit = 0;
  do {
    const auto whole = take_digits(rest);
    std::string_view fraction;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      fraction = take_digits(rest);
      if (fraction.empty()) return refused(text, right);
    }
    const auto name = take_letters(rest);
    const Unit* unit = find_unit(name);
    if (!whole.empty() && name.empty() && rest.empty()) return refused(text, fmt::format("it has no unit; {}", right));
    if (whole.empty() || unit == nullptr || (!fraction.empty() && !rest.empty())) return refused(text, right);
    if (last_unit != 0 && unit->nanos >= last_unit) return refused(text, right);
    last_unit = unit->nanos;

    std::int64_t number = 0;
    std::int64_t part = 0;
    for (const char c : whole) {
      if (!shift_in(number, c)) return refused(text, too_long);
    }
    if (!fraction_of(fraction, unit->nanos, part)) return refused(text, "it is finer than a nanosecond");
    if (__builtin_mul_overflow(number, unit->nanos, &number) || __builtin_add_overflow(nanos, number, &nanos) ||
        __builtin_add_overflow(nanos, part, &nanos)) {
      return refused(text, too_long);
    }
  } while (!rest.empty());
  return Duration(nanos);
}

std::string format_duration(Duration duration) {
  const auto& [ns, us, ms, s, m, h, d] = units;
  if (duration == Duration::min()) return "-" + format_duration(Duration::max());
  if (duration < Duration::zero()) return "-" + format_duration(-duration);
  const std::int64_t nanos = duration.count();
  if (nanos == 0) return "0s";
  if (nanos >= d.nanos) return in_two_units(nanos, d, h);
  if (nanos >= h.nanos) return in_two_units(nanos, h, m);
  if (nanos >= m.nanos) return in_two_units(nanos, m, s);
  if (nanos >= s.nanos) return with_fraction(nanos, s);
  if (nanos >= ms.nanos) return with_fraction(nanos, ms);
  if (nanos >= us.nanos) return with_fraction(nanos, us);
  return with_fraction(nanos, ns);
}

}  // namespace pawl::base
