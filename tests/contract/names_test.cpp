// Promise: a lock name is any bytes up to 4 KiB. Two different names never meet, and each name meets itself.

#include "tests/contract/contract.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Names);

namespace {

using Strings = std::vector<std::string>;

void add_single_bytes(Strings& names) {
  for (int byte = 0; byte < 256; ++byte) names.emplace_back(1, static_cast<char>(byte));
}

void add_separators(Strings& names) {
  for (const char* name :
       {"a/b",   "a//b",    "/a/b", "a/b/", "a:b", "a::b",  "{a}",  "{a}b", "a{b}", "a*b", "a?b", "a[b]", "a%2Fb",
        "a%2fb", "a%252Fb", "%",    "%%",   "%00", "%0",    "~a",   "~",    "..",   "...", "./a", "../a", ".a",
        "a.",    "a ",      " a",   "a\t",  "a\n", "a\r\n", "a\\b", "a|b",  "a;b",  "a,b", "a=b", "a&b",  "a#b",
        "a@b",   "a+b",     "a!b",  "a$b",  "a^b", "a`b",   "a\"b", "a'b",  "<a>",  "(a)"}) {
    names.emplace_back(name);
  }
}

void add_look_alikes(Strings& names) {
  for (const char* name : {"A",
                           "a",
                           "Job",
                           "job",
                           "JOB",
                           "jOB",
                           "\xC3\xA9",
                           "e\xCC\x81",
                           "\xC3\x89",
                           "\xEF\xBC\xA1",
                           "\xE2\x84\xAA",
                           "K",
                           "\xC4\xB0",
                           "\xC4\xB1",
                           "i",
                           "I",
                           "ss",
                           "\xC3\x9F",
                           "\xFF\xFE",
                           "\xF0\x9F\x94\x92",
                           "\xED\xA0\x80",
                           "\xE2\x80\x8B",
                           "\xEF\xBB\xBFjob"}) {
    names.emplace_back(name);
  }
}

void add_attacks(Strings& names) {
  for (const char* name : {"'; DROP TABLE pawl_claims; --",
                           "' OR '1'='1",
                           "\"; return redis.call('FLUSHALL') --",
                           "]] redis.call('DEL','x') [[",
                           "${jndi:ldap://x}",
                           "$(reboot)",
                           "`reboot`",
                           "%s%s%s%n",
                           "\r\nFLUSHALL\r\n",
                           "../../etc/passwd",
                           "/zookeeper/quota",
                           "CON",
                           "NUL",
                           "lock-0000000001",
                           "queue",
                           "session",
                           "mutex",
                           "pawl",
                           "pawl1.0.mutex",
                           "null",
                           "undefined",
                           "NaN",
                           "-1",
                           "0",
                           "<script>alert(1)</script>",
                           "\x1B[31mred",
                           "*",
                           "#",
                           "--help"}) {
    names.emplace_back(name);
  }
}

void add_embedded_zeros_and_lengths(Strings& names) {
  names.emplace_back("a\0b", 3);
  names.emplace_back("a\0", 2);
  names.emplace_back("\0a", 2);
  names.emplace_back("a\0b\0", 4);
  names.emplace_back("\0\0", 2);
  for (const std::size_t size : {63,  64,  65,  80,  100, 127, 128,  191,  192,  193,  254, 255,
                                 256, 257, 511, 512, 767, 768, 1023, 1024, 4094, 4095, 4096}) {
    names.emplace_back(size, 'x');
    names.push_back(std::string(size - 1, 'x') + "y");
    names.push_back(std::string(size - 1, 'x') + "/");
    names.push_back("/" + std::string(size - 1, 'x'));
  }
}

Strings hostile_names() {
  Strings all;
  add_single_bytes(all);
  add_separators(all);
  add_look_alikes(all);
  add_attacks(all);
  add_embedded_zeros_and_lengths(all);
  const std::set<std::string> different(all.begin(), all.end());
  return {different.begin(), different.end()};
}

}  // namespace

// All pairs at once: if any two names met, the second one could not be had while the first is held.
TEST_P(Names, AllCanBeHeldAtTheSameTimeAndEachExcludesItself) {
  const Strings names = hostile_names();
  ASSERT_GE(names.size(), 200U);
  const std::vector<Actor> clients = clients_to_hold(names.size());
  const Actor carol = world().client();
  std::vector<Hold> holds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Result<Hold> hold = try_acquire(clients[i % clients.size()], names[i]);
    ASSERT_TRUE(hold) << base::printable(names[i]) << ": " << hold.error().to_string();
    holds.push_back(std::move(*hold));
  }
  for (const std::string& name : names) EXPECT_EQ(try_acquire(carol, name).code(), Errc::busy) << base::printable(name);
  holds.clear();
  EXPECT_TRUE(world().ask_until([&] { return world().views().empty(); }));
}

TEST_P(Names, TheListGivesThemBackAsTheyWereGiven) {
  const Strings names = hostile_names();
  const std::vector<Actor> clients = clients_to_hold(names.size());
  std::vector<Hold> holds;
  for (std::size_t i = 0; i < names.size(); ++i) holds.push_back(must_acquire(clients[i % clients.size()], names[i]));
  std::set<std::string> listed;
  const std::vector<LockView> views = list(clients[0]).value();
  for (const LockView& view : views) listed.insert(view.name);
  EXPECT_EQ(listed, std::set<std::string>(names.begin(), names.end()));
}

TEST_P(Names, SequencersCarryThemThroughTheirTextForm) {
  const Actor alice = world().client();
  for (const std::string& name : hostile_names()) {
    const Sequencer sequencer = must_acquire(alice, name).sequencer();
    EXPECT_EQ(Sequencer::parse(sequencer.to_string()).value(), sequencer) << base::printable(name);
  }
}

TEST_P(Names, AnEmptyOneIsRefused) {
  const Actor alice = world().client();
  EXPECT_EQ(lock::ClientCore::mutex(alice.core(), "", {}).code(), Errc::invalid_argument);
}

TEST_P(Names, OneAbove4KiBIsRefused) {
  const Actor alice = world().client();
  EXPECT_EQ(lock::ClientCore::mutex(alice.core(), std::string(4097, 'x'), {}).code(), Errc::invalid_argument);
  EXPECT_TRUE(try_acquire(alice, std::string(4096, 'x')));
}

TEST_P(Names, ErrorsDoNotPrintControlBytes) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "evil\n\x1B[31m");
  const Result<Hold> refused = try_acquire(bob, "evil\n\x1B[31m");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find_first_of("\n\x1B"), std::string::npos);
}

}  // namespace pawl::contract
