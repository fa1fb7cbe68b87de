#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace pawl::test {

/// The statement that makes pawl_NAME, for a test to put another one in its place. Where PAWL_SOURCE is defined.
inline std::string text_of_procedure(const std::string& name) {
  std::ifstream file(PAWL_SOURCE "/src/store/mysql/sql/" + name + ".sql");
  if (!file) throw std::runtime_error("there is no procedure " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace pawl::test
