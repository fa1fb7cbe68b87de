#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

/// What the fuzzers share. A target is one function over bytes; under the preset `fuzz` libFuzzer calls it (`make fuzz`),
/// everywhere else `replay.cpp` calls all of them with their corpus (`make test`).
namespace pawl::fuzz {

using Target = void (*)(std::string_view input);

/// The targets of this program, each by the name of its file.
struct Named {
  std::string_view name;
  Target target;
};
inline std::vector<Named>& targets() {
  static std::vector<Named> all;
  return all;
}
inline bool add_target(std::string_view name, Target target) {
  targets().push_back({name, target});
  return true;
}

/// Ends the process when the property does not hold: libFuzzer and the replay then name the input.
inline void must(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "pawl fuzz: broken: %s\n", property);
  std::abort();
}

/// Takes bytes off the front of the input for small decisions; 0 when there are none left.
inline std::uint8_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

/// What stands before the first `end`, or all of it; `input` goes on behind it.
inline std::string_view take_part(std::string_view& input, char end) {
  const std::string_view part = input.substr(0, input.find(end));
  input.remove_prefix(part.size() < input.size() ? part.size() + 1 : part.size());
  return part;
}

}  // namespace pawl::fuzz

#ifdef PAWL_LIBFUZZER
#define PAWL_FUZZ_TARGET(name, function)                                              \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    function(std::string_view(reinterpret_cast<const char*>(data), size));            \
    return 0;                                                                         \
  }                                                                                   \
  static_assert(true)
#else
#define PAWL_FUZZ_TARGET(name, function) \
  [[maybe_unused]] static const bool name##_is_known = ::pawl::fuzz::add_target(#name, function)
#endif
