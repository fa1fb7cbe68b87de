// Lock names: two names never meet, in any form, and every form is read back as what it was made of.
// Input: two names, with a line's end between them.

#include "base/lock_name.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

namespace pawl::fuzz::lock_name {

bool plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("-_.%").find(c) != std::string_view::npos;
}

std::string check_one(std::string_view name) {
  const std::string encoded = base::encode_name(name);
  must(std::ranges::all_of(encoded, plain), "an encoded name separates nothing");
  must(!encoded.starts_with('.') && !encoded.starts_with('~'), "an encoded name begins with neither . nor ~");
  must(base::decode_name(encoded) == std::string(name), "a name comes back from its encoded form");
  const auto decoded = base::decode_name(name);
  if (decoded) must(base::encode_name(*decoded) == name, "a text that can be decoded is the only one of its name");
  return encoded;
}

void check_printable(std::string_view text, std::size_t most) {
  const std::string shown = base::printable(text, most);
  must(shown.size() <= most, "printable() keeps its limit");
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  must(std::ranges::none_of(shown, control), "printable() lets no control byte through");
}

void run(std::string_view input) {
  const std::string_view one = take_part(input, '\n');
  const std::string_view other = input;
  const std::string encoded = check_one(one);
  const bool same = one == other;
  must(same == (encoded == check_one(other)), "two names have two encoded forms");
  for (const std::size_t most : {std::size_t{80}, std::size_t{81}, std::size_t{82}, std::size_t{400}}) {
    const std::string fitted = base::fit_name(one, most);
    must(fitted.size() <= most, "a fitted name keeps its limit");
    must(same == (fitted == base::fit_name(other, most)), "two names have two fitted forms");
    must(fitted == encoded || fitted.starts_with('~'), "a name that was cut shows it");
  }
  for (const std::size_t most : {std::size_t{0}, std::size_t{2}, std::size_t{3}, std::size_t{40}}) {
    check_printable(one, most);
  }
  const bool allowed = !one.empty() && one.size() <= base::LockName::max_size;
  must(base::LockName::make(one).has_value() == allowed, "a lock's name has 1 to 4,096 bytes");
}

}  // namespace pawl::fuzz::lock_name

PAWL_FUZZ_TARGET(lock_name, pawl::fuzz::lock_name::run);
