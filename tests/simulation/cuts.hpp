#pragma once

#include <set>
#include <string>
#include <string_view>

namespace pawl::test {

/// Parts of a world that are left out, by name: `strike 3`, `user a/1`, `turn a/1.2`, `command 2`, and what a
/// script can do without, `drift` and `drop_reply` among them. The rest of the world draws the same random numbers
/// as before. Their text, for the command line, is a list with commas.
class Cuts {
 public:
  Cuts() = default;
  static Cuts parse(std::string_view text);
  std::string text() const;

  bool has(std::string_view part) const { return !parts_.empty() && parts_.contains(part); }
  Cuts with(std::string part) const;
  std::size_t size() const { return parts_.size(); }

 private:
  std::set<std::string, std::less<>> parts_;
};

}  // namespace pawl::test
