#include "store/net/srv.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/dns_answer.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace pawl::store::net {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::name;
using test::number;
using test::record;
using test::srv;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string question() {
  return number(7) + std::string(10, '\0') + name({"_etcd-client", "_tcp", "example", "com"}) + number(33) + number(1);
}

std::vector<std::string> texts(const std::vector<Address>& addresses) {
  std::vector<std::string> all;
  for (const Address& address : addresses) all.push_back(address.to_string());
  return all;
}

std::vector<std::string> read(const std::string& message) {
  const auto records = read_srv_answer(message);
  if (!records) return {records.error().message};
  std::vector<std::string> all;
  for (const SrvRecord& one : *records) {
    all.push_back(std::to_string(one.priority) + " " + std::to_string(one.weight) + " " + one.host + ":" +
                  std::to_string(one.port));
  }
  return all;
}

TEST(SrvAnswer, RecordsAreRead) {
  const std::string host = name({"db1", "example", "com"});
  const std::string shortened =
      std::string("\3db2") + number(0xc000 | (12 + 13 + 5));  // "db2" + ".example.com" of the question
  EXPECT_THAT(read(answer(question(), {srv(1, 10, 2379, host), srv(2, 0, 2380, shortened)})),
              ElementsAre("1 10 db1.example.com:2379", "2 0 db2.example.com:2380"));
}

TEST(SrvAnswer, OtherRecordsArePassedOver) {
  EXPECT_THAT(read(answer(question(), {record(5, name({"alias"})), srv(1, 1, 1, name({"a"}))})),
              ElementsAre("1 1 a:1"));
  EXPECT_THAT(read(answer(question(), {})), IsEmpty());
}

TEST(SrvAnswer, AServiceThatIsDeclaredToBeMissingHasNoRecords) {
  EXPECT_THAT(read(answer(question(), {srv(0, 0, 0, name({}))})), IsEmpty());
}

TEST(SrvAnswer, ACutMessageIsAnErrorWhereverItIsCut) {
  const std::string whole = answer(question(), {srv(1, 10, 2379, name({"db1"}))});
  ASSERT_TRUE(read_srv_answer(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read_srv_answer(whole.substr(0, size)).code(), Errc::store_unavailable) << size;
  }
}

TEST(SrvAnswer, ANameThatPointsToItselfIsAnError) {
  const std::string loop = answer(question(), {}).replace(6, 2, number(1)) + number(0xc000 | 46);
  EXPECT_FALSE(read_srv_answer(loop));
}

TEST(SrvOrder, LowerPrioritiesComeFirstAndWeightsAreDrawn) {
  const std::vector<SrvRecord> records{{2, 0, 1, "late"}, {1, 0, 1, "light"}, {1, 9, 1, "heavy"}};
  EXPECT_THAT(texts(in_order(records, [] { return 0; })), ElementsAre("light:1", "heavy:1", "late:1"));
  EXPECT_THAT(texts(in_order(records, [] { return 1; })), ElementsAre("heavy:1", "light:1", "late:1"));
  EXPECT_THAT(texts(in_order(records, [] { return 10; })), ElementsAre("heavy:1", "light:1", "late:1"));
}

/// A DNS server on the loopback address.
class SrvLookUpTest : public testing::Test {
 protected:
  using Say = std::function<std::string(const std::string& question)>;

  SrvLookUpTest() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    address_ = test::loopback(0);
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    address_.sin_port = htons(socket_.port());
  }
  /// Answers one question.
  void serve(Say say) {
    thread_ = std::thread([this, say = std::move(say)] {
      std::array<char, 2048> buffer{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t heard =
          ::recvfrom(socket_.fd(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (heard <= 0) return;
      const std::string said = say(std::string(buffer.data(), static_cast<std::size_t>(heard)));
      ::sendto(socket_.fd(), said.data(), said.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
    });
  }
  /// It has answered.
  void served() {
    if (thread_.joinable()) thread_.join();
  }
  ~SrvLookUpTest() override { served(); }
  Result<std::vector<Address>> look_up(Duration patience = 60s) {
    std::future<Result<std::vector<Address>>> begun;
    test::on_executor(runtime_, [&] {
      const base::Deadline deadline = base::Deadline::in(runtime_.now(), patience);
      begun = test::begin(runtime_, look_up_srv(runtime_, "_etcd-client._tcp.example.com", deadline, address_));
    });
    return test::take(begun);
  }

  base::RealRuntime runtime_;
  const test::Socket socket_;
  sockaddr_in address_{};
  std::thread thread_;
};

TEST_F(SrvLookUpTest, TheRecordsOfANameAreLookedUp) {
  std::string asked;
  serve([&](const std::string& question) {
    asked = question;
    return answer(question, {srv(2, 1, 2380, name({"db2"})), srv(1, 1, 2379, name({"db1", "example", "com"}))});
  });
  const auto found = look_up();
  served();
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_THAT(texts(*found), ElementsAre("db1.example.com:2379", "db2:2380"));
  EXPECT_THAT(asked, HasSubstr(name({"_etcd-client", "_tcp", "example", "com"}) + number(33)));
}

TEST_F(SrvLookUpTest, ANameThatDoesNotExistHasNoRecords) {
  serve([](const std::string& question) { return answer(question, {}, 3); });
  const auto found = look_up();
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_THAT(*found, IsEmpty());
}

TEST_F(SrvLookUpTest, AServerThatSaysAnErrorIsAnError) {
  serve([](const std::string& question) { return answer(question, {}, 1); });
  const auto found = look_up();
  EXPECT_EQ(found.code(), Errc::store_unavailable);
  EXPECT_THAT(found.error().message, HasSubstr("_etcd-client._tcp.example.com"));
}

TEST_F(SrvLookUpTest, TheDeadlineEndsTheWait) {
  std::promise<void> waited;
  serve([&](const std::string& question) {
    waited.get_future().wait();
    return answer(question, {});
  });
  const auto found = look_up(10ms);
  waited.set_value();
  served();
  EXPECT_EQ(found.code(), Errc::store_unavailable);
  EXPECT_THAT(found.error().message, HasSubstr("in time"));
}

}  // namespace
}  // namespace pawl::store::net
