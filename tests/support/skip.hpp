#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace pawl::test {

/// PAWL_NO_SKIPS=1: a machine on which everything must be there, such as CI.
inline bool may_skip() {
  const char* no_skips = std::getenv("PAWL_NO_SKIPS");
  return no_skips == nullptr || *no_skips == '\0' || *no_skips == '0';
}

}  // namespace pawl::test

/// For a test that needs what this machine has not got: a tool, a right, a registry. It is skipped, and says why; with
/// PAWL_NO_SKIPS=1 it fails. What a scheme declares that it cannot do is skipped by GTEST_SKIP in any case.
#define PAWL_SKIP_WITHOUT(what)                                                     \
  do {                                                                              \
    if (!::pawl::test::may_skip()) FAIL() << "missing on this machine: " << (what); \
    GTEST_SKIP() << (what);                                                         \
  } while (false)
