#include "store/net/tls.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace pawl::store::net {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Certificates and keys of the test, as files. "alice" gives alice.crt, signed by herself, and alice.key.
class TlsContextTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }

  void make_certificate(const std::string& name) const {
    const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(::EVP_EC_gen("P-256"), &::EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&::X509_free)> certificate(::X509_new(), &::X509_free);
    X509* raw = certificate.get();
    ::X509_gmtime_adj(::X509_getm_notBefore(raw), 0);
    ::X509_gmtime_adj(::X509_getm_notAfter(raw), 24 * 3600);
    ::X509_set_pubkey(raw, key.get());
    const auto* common_name = reinterpret_cast<const unsigned char*>(name.c_str());
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(raw), "CN", MBSTRING_ASC, common_name, -1, -1, 0);
    ::X509_set_issuer_name(raw, ::X509_get_subject_name(raw));
    ASSERT_GT(::X509_sign(raw, key.get(), ::EVP_sha256()), 0);
    write_pem(name + ".crt", [&](std::FILE* out) { return ::PEM_write_X509(out, raw); });
    write_pem(name + ".key", [&](std::FILE* out) {
      return ::PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

  static Error refusal(const TlsContext::Files& files) {
    const auto context = TlsContext::make(files);
    EXPECT_EQ(context.code(), Errc::invalid_argument);
    return context ? Error{} : context.error();
  }

 private:
  template <class Write>
  void write_pem(const std::string& name, Write write) const {
    std::FILE* out = std::fopen(file(name).c_str(), "w");
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(write(out), 1);
    std::fclose(out);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TlsContextTest, TheServerIsAlwaysVerified) {
  make_certificate("alice");
  for (const TlsContext::Files& files :
       {TlsContext::Files{}, TlsContext::Files{.ca = file("alice.crt")},
        TlsContext::Files{.ca = file("alice.crt"), .cert = file("alice.crt"), .key = file("alice.key")}}) {
    const auto context = TlsContext::make(files);
    ASSERT_TRUE(context) << context.error().to_string();
    ::SSL_CTX* native = (*context)->native().native_handle();
    EXPECT_EQ(::SSL_CTX_get_verify_mode(native), SSL_VERIFY_PEER);
  }
}

TEST_F(TlsContextTest, NothingOlderThanTls12IsSpoken) {
  const auto context = TlsContext::make({}).value();
  EXPECT_EQ(SSL_CTX_get_min_proto_version(context->native().native_handle()), TLS1_2_VERSION);
}

TEST_F(TlsContextTest, OurCertificateIsShownWhereThereIsOne) {
  make_certificate("alice");
  const auto context = TlsContext::make({.cert = file("alice.crt"), .key = file("alice.key")}).value();
  EXPECT_NE(::SSL_CTX_get0_certificate(context->native().native_handle()), nullptr);
  EXPECT_EQ(::SSL_CTX_check_private_key(context->native().native_handle()), 1);
  const auto without = TlsContext::make({}).value();
  EXPECT_EQ(::SSL_CTX_get0_certificate(without->native().native_handle()), nullptr);
}

TEST_F(TlsContextTest, ANameOfAFileCannotSpoilALogLine) {
  EXPECT_THAT(refusal({.ca = "/none\nb"}).message, StartsWith("ca \"/none\\nb\" cannot be used: "));
}

TEST_F(TlsContextTest, AFileThatIsNotThereIsNamed) {
  make_certificate("alice");
  const std::string none = file("none");
  EXPECT_THAT(refusal({.ca = none}).message, StartsWith("ca \"" + none + "\" cannot be used: "));
  EXPECT_THAT(refusal({.cert = none, .key = file("alice.key")}).message,
              StartsWith("cert \"" + none + "\" cannot be used: "));
  EXPECT_THAT(refusal({.cert = file("alice.crt"), .key = none}).message,
              StartsWith("key \"" + none + "\" cannot be used: "));
}

TEST_F(TlsContextTest, AFileWithSomethingElseIsNamed) {
  make_certificate("alice");
  const std::string other = write("other", "this is no certificate\n");
  const std::string empty = write("empty", "");
  for (const std::string& file_name : {other, empty}) {
    EXPECT_THAT(refusal({.ca = file_name}).message, HasSubstr(file_name));
    EXPECT_THAT(refusal({.cert = file_name, .key = file("alice.key")}).message, HasSubstr(file_name));
    EXPECT_THAT(refusal({.cert = file("alice.crt"), .key = file_name}).message, HasSubstr(file_name));
  }
}

TEST_F(TlsContextTest, AKeyThatIsNotTheCertificatesIsRefused) {
  make_certificate("alice");
  make_certificate("bob");
  EXPECT_THAT(refusal({.cert = file("alice.crt"), .key = file("bob.key")}).message,
              StartsWith("key \"" + file("bob.key") + "\" cannot be used: "));
}

TEST_F(TlsContextTest, CertificateAndKeyBelongTogether) {
  make_certificate("alice");
  const std::string sentence = "cert and key belong together: one of them is missing";
  EXPECT_EQ(refusal({.cert = file("alice.crt")}).message, sentence);
  EXPECT_EQ(refusal({.key = file("alice.key")}).message, sentence);
}

TEST_F(TlsContextTest, WhatIsInAKeyIsNotSaid) {
  make_certificate("alice");
  const std::string key = write("broken.key", "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n");
  EXPECT_THAT(refusal({.cert = file("alice.crt"), .key = key}).message, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace pawl::store::net
