// What a URL of etcd says, as far as it can be seen from outside.

#include "tests/support/url_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::store::etcd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class EtcdConfigTest : public test::UrlTest {};

TEST_F(EtcdConfigTest, EveryOptionIsKnown) {
  for (const std::string option :
       {"scheme=queue", "lease=30s", "timeout=2s", "prefix=x/", "names=raw", "password_file=/run/password"}) {
    const auto store = open("etcd://h1?" + option);
    EXPECT_TRUE(store) << store.error().to_string();
  }
}

TEST_F(EtcdConfigTest, WhatIsWrongIsSaidAndWhatIsSecretIsNot) {
  struct Wrong {
    std::string url, sentence;
  };
  const std::string secret = "etcd://alice:s3cret@";
  for (const auto& [url, sentence] : std::vector<Wrong>{
           {secret + "h1/locks", "etcd has no path"},
           {secret + "h1?prefix=", "the prefix must not be empty"},
           {secret + "h1?names=raw&prefix=mine/", "prefix cannot be used with names=raw"},
           {secret + "h1,h2?prefix=mine/&names=raw", "prefix cannot be used with names=raw"},
           {secret + "h1?names=raw&prefix=pawl/", "prefix cannot be used with names=raw"},
           {"etcd+srv://alice:s3cret@example.com?names=raw&prefix=mine/", "prefix cannot be used with names=raw"},
           {"etcd+srv://alice:s3cret@example.com:2379", "write etcd+srv://domain, without a port"},
       }) {
    const std::string message = refusal(url);
    EXPECT_THAT(message, AllOf(HasSubstr(sentence), Not(HasSubstr("s3cret")), Not(HasSubstr("alice")))) << url;
  }
}

}  // namespace
}  // namespace pawl::store::etcd
