// Durations: whatever is read is not negative, and what is printed of it in one unit is read again, cut to thousandths.

#include "base/duration.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace pawl::fuzz::duration {

void print(Duration any) {
  const std::string shown = base::format_duration(any);
  must(!shown.empty() && shown.size() < 40, "a duration is printed in a few characters");
  const bool two_units = shown.find(' ') != std::string::npos;
  if (two_units || any < Duration::zero()) return;
  const auto again = base::parse_duration(shown);
  must(again.has_value(), "a duration printed in one unit can be read");
  must(*again <= any, "a duration is cut when printed, never rounded up");
  using namespace std::chrono_literals;
  const Duration smallest = any < 1min ? any / 1000 : any < 1h ? 1s : any < 24h ? 1min : Duration(1h);
  must(any - *again <= smallest, "a duration is printed in two units, or with three digits behind the point");
}

void run(std::string_view input) {
  const auto read = base::parse_duration(input);
  if (read) {
    must(*read >= Duration::zero(), "no duration is negative");
    must(*base::parse_duration("0" + std::string(input)) == *read, "a leading zero changes nothing");
    print(*read);
  } else {
    must(read.code() == Errc::invalid_argument, "what is no duration is an invalid argument");
  }
  std::int64_t any = 0;
  if (!input.empty()) std::memcpy(&any, input.data(), std::min(input.size(), sizeof any));
  print(Duration(any));
}

}  // namespace pawl::fuzz::duration

PAWL_FUZZ_TARGET(duration, pawl::fuzz::duration::run);
