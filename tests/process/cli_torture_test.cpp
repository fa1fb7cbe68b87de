#include "tests/process/cli.hpp"

#include <string>

/// `pawl torture` on a store of the user; tests/torture has the judge's own tests.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class CliTorture : public CliTest {};

TEST_F(CliTorture, TheFileStoreKeepsItsPromisesAndNothingIsLeft) {
  const Ended ended = pawl({"torture", "--seconds", "2", "--workers", "2", "--lease", "300ms", "--seed", "7"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("file, seed 7: 2 workers for 2 s, lease 300 ms, kinds mutex, rw, permits\n"),
                               ContainsRegex("grants +[1-9]"), ContainsRegex("worker killed [1-9]"),
                               ContainsRegex("verdict +clean")));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliTorture, WhatCannotBeTorturedIsTold) {
  const Ended memory = pawl({"torture", "--store", "memory:"});
  EXPECT_EQ(memory.code, 125);
  EXPECT_EQ(memory.err, "pawl: processes cannot share a memory store; name another one\n");
  const Ended nowhere = pawl({"torture", "--store", "file:///proc/nowhere"});
  EXPECT_EQ(nowhere.code, 121) << nowhere.err;
}

}  // namespace
}  // namespace pawl::test
