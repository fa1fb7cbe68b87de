// What cmake/static_cli.cmake tries: whether the archives fit together, and libfmt's headers are as fmt.cpp expects them.
#include <fmt/format.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const std::string text = fmt::format("{} {:>5} {}\n", argc, 0.5, argv[0]);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
