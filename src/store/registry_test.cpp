#include "store/registry.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::store {
namespace {

class RegistryTest : public testing::Test {
 protected:
  Result<std::shared_ptr<Store>> open(std::string_view url) {
    return open_store(base::Url::parse(url).value(), process_);
  }
  std::string refusal(std::string_view url) {
    const auto store = open(url);
    EXPECT_EQ(store.code(), Errc::invalid_argument);
    return store ? "" : store.error().message;
  }

  base::SimWorld world_{1};
  base::SimProcess& process_ = world_.add_process();
};

TEST_F(RegistryTest, AnUnknownStoreIsToldWhatIsKnown) {
  EXPECT_EQ(refusal("foo:bar").find("unknown store \"foo:\"; this build knows: memory"), 0U);
}

TEST_F(RegistryTest, TheClientsOptionsAreKnownToEveryStoreAndOthersAreRefused) {
  for (const std::string_view option : common_options)
    EXPECT_TRUE(open("memory:?" + std::string(option) + "=1")) << option;
  const std::string sentence = refusal("memory:?leese=2s");
  EXPECT_TRUE(sentence.starts_with("unknown option \"leese\" in memory:?leese=2s; known: lease, ")) << sentence;
}

TEST_F(RegistryTest, MemoryIsSharedByNameAndPrivateWithoutOne) {
  const auto one = open("memory:jobs").value(), same = open("memory:jobs").value(), other = open("memory:work").value();
  EXPECT_EQ(one->id(), same->id());
  EXPECT_NE(one->id(), other->id());
  const auto first = open("memory:").value(), second = open("memory:").value();
  EXPECT_NE(first->id(), second->id());
}

TEST_F(RegistryTest, MemoryHasNoHost) {
  EXPECT_EQ(refusal("memory://here/jobs"),
            "memory://here/jobs: the memory store has no host; write memory:NAME or memory:");
}

TEST_F(RegistryTest, EveryCapabilityIsOfASchemeThatItsStoreHas) {
  for (const Capabilities* capabilities : all_capabilities()) {
    EXPECT_FALSE(capabilities->store.empty());
    EXPECT_FALSE(capabilities->scheme.empty());
    EXPECT_FALSE(capabilities->summary.empty());
    EXPECT_FALSE(capabilities->token_source.empty());
    EXPECT_FALSE(capabilities->on_client_death.empty());
    EXPECT_LT(capabilities->shortest_lease, capabilities->longest_lease);
  }
  const auto memory = open("memory:").value();
  EXPECT_EQ(&memory->scheme("")->capabilities(), all_capabilities().at(0));
  EXPECT_EQ(memory->scheme("queue"), memory->scheme(""));
  EXPECT_EQ(memory->scheme("majority"), nullptr);
}

}  // namespace
}  // namespace pawl::store
