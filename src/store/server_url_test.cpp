#include "store/server_url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::store {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::string_view example = "tea://host:port/pot";

class ServerUrlTest : public testing::Test {
 protected:
  Result<ServerConfig> read(const std::string& text, ServerConfig config = {}) {
    const base::Url url = base::Url::parse(text).value();
    base::UrlOptions options(url);
    if (auto ok = read_server_options(url, options, example, config); !ok) return ok.error();
    if (auto known = options.finish(); !known) return known.error();
    return config;
  }
  std::string refusal(const std::string& text) {
    const auto config = read(text);
    EXPECT_EQ(config.code(), Errc::invalid_argument) << text;
    return config ? "" : config.error().message;
  }
};

TEST_F(ServerUrlTest, WhatIsNotSaidStaysAsTheStoreHasIt) {
  ServerConfig store;
  store.prefix = "pots:";
  store.timeout = 7s;
  const ServerConfig config = read("tea://h1", store).value();
  EXPECT_EQ(config.prefix, "pots:");
  EXPECT_EQ(config.timeout, 7s);
  EXPECT_FALSE(config.raw_names);
  EXPECT_FALSE(config.credentials);
  EXPECT_EQ(config.password_file, "");
}

TEST_F(ServerUrlTest, EveryOptionIsRead) {
  const ServerConfig config =
      read("tea://alice:s3cret@h1?password_file=/run/password&prefix=cups:&names=raw&timeout=2s").value();
  ASSERT_TRUE(config.credentials);
  EXPECT_EQ(config.credentials->expose().user, "alice");
  EXPECT_EQ(config.credentials->expose().password, "s3cret");
  EXPECT_EQ(config.password_file, "/run/password");
  EXPECT_EQ(config.prefix, "cups:");
  EXPECT_TRUE(config.raw_names);
  EXPECT_EQ(config.timeout, 2s);
}

TEST_F(ServerUrlTest, AnEmptyPrefixIsAPrefix) {
  ServerConfig store;
  store.prefix = "pots:";
  EXPECT_EQ(read("tea://h1?prefix=", store).value().prefix, "");
}

TEST_F(ServerUrlTest, ATimeoutOfZeroLeavesTheDefault) {
  EXPECT_EQ(read("tea://h1?timeout=0s").value().timeout, ServerConfig().timeout);
}

TEST_F(ServerUrlTest, WhatIsWrongIsSaidAndWhatIsSecretIsNot) {
  EXPECT_EQ(refusal("tea:h1"), "tea:h1: write tea://host:port/pot");
  EXPECT_EQ(refusal("tea://alice:s3cret@h1?names=all"), R"(tea://***@h1?names=all: names must be "raw")");
  EXPECT_EQ(refusal("tea://h1?names=RAW"), R"(tea://h1?names=RAW: names must be "raw")");
  EXPECT_THAT(refusal("tea://alice:s3cret@h1?timeout=soon"),
              testing::StartsWith(R"(option "timeout" in tea://***@h1?timeout=soon: )"));
  EXPECT_THAT(refusal("tea://h1?sugar=1"), testing::EndsWith("known: names, password_file, prefix, timeout"));
}

// Addresses

std::vector<std::string> addresses(const std::string& text) {
  std::vector<std::string> all;
  for (const net::Address& address : read_addresses(base::Url::parse(text).value(), 80)) {
    all.push_back(address.host + " " + std::to_string(address.port));
  }
  return all;
}

TEST(ServerAddresses, HaveThePortOfTheStoreUnlessTheyNameTheirOwn) {
  EXPECT_THAT(addresses("tea://h1,h2:81,[::1],[::1]:82/pot"), ElementsAre("h1 80", "h2 81", "::1 80", "::1 82"));
}

TEST(ServerAddresses, AreThisMachineWhereNoneIsNamed) {
  EXPECT_THAT(addresses("tea://"), ElementsAre("127.0.0.1 80"));
  EXPECT_THAT(addresses("tea:///pot"), ElementsAre("127.0.0.1 80"));
}

// TLS

Result<std::optional<net::TlsFiles>> tls(const std::string& text, AskedForTls asked) {
  const base::Url url = base::Url::parse(text).value();
  base::UrlOptions options(url);
  auto files = read_tls(options, asked, "tea+tls://");
  EXPECT_TRUE(options.finish()) << "all three options are known";
  return files;
}

TEST(ServerTls, ItsFilesAreRead) {
  const auto files = tls("tea+tls://h1?ca=/ca.crt&cert=/me.crt&key=/me.key", AskedForTls::always).value();
  ASSERT_TRUE(files);
  EXPECT_EQ(files->ca, "/ca.crt");
  EXPECT_EQ(files->cert, "/me.crt");
  EXPECT_EQ(files->key, "/me.key");
}

TEST(ServerTls, NeedsNoFiles) {
  EXPECT_TRUE(tls("tea+tls://h1", AskedForTls::always).value());
  EXPECT_FALSE(tls("tea://h1", AskedForTls::no).value());
}

TEST(ServerTls, MayDependOnItsFiles) {
  EXPECT_FALSE(tls("tea+srv://h1", AskedForTls::with_files).value());
  EXPECT_TRUE(tls("tea+srv://h1?ca=/ca.crt", AskedForTls::with_files).value());
}

TEST(ServerTls, FilesWithoutTlsAreRefused) {
  for (const std::string option : {"ca", "cert", "key"}) {
    const std::string url = "tea://h1?" + option + "=/etc/pem";
    const auto files = tls(url, AskedForTls::no);
    ASSERT_EQ(files.code(), Errc::invalid_argument) << option;
    EXPECT_EQ(files.error().message, url + ": ca, cert and key belong to tea+tls://");
  }
}

}  // namespace
}  // namespace pawl::store
