#include "store/net/stream.hpp"

#include "base/manual_clock.hpp"
#include "base/real_runtime.hpp"
#include "base/wakeup.hpp"
#include "store/net/tls.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/server.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::store::net {
namespace {

using namespace std::chrono_literals;
using base::RealRuntime;
using test::eventually;
using test::listen_on_path;
using test::listen_on_tcp;
using test::Socket;
using test::take;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Address address_of(const Socket& listener, const std::string& host = "127.0.0.1") {
  return {.host = host, .port = listener.port()};
}

/// What each of our descriptors stands for, such as "socket:[4711]".
std::map<int, std::string> open_files() {
  std::map<int, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    files[std::stoi(entry.path().filename().string())] = std::filesystem::read_symlink(entry.path(), gone).string();
  }
  return files;
}

class StreamTest : public testing::Test {
 protected:
  void TearDown() override {
    on_executor([&] { stream_.reset(); });
  }

  void on_executor(const std::function<void()>& work) { test::on_executor(runtime_, work); }
  template <class T>
  std::future<Result<T>> begin(awaitable<Result<T>> work) {
    return test::begin(runtime_, std::move(work));
  }
  Deadline in(Duration wait) const { return Deadline::in(runtime_.now(), wait); }
  Result<void> connect(const Address& address, Duration wait = 30s) {
    return runtime_.block_on(stream_->connect(address, in(wait)));
  }
  Result<void> write(std::string_view bytes) { return runtime_.block_on(stream_->write(bytes)); }
  /// What comes next.
  Result<std::string> read() {
    const Result<std::size_t> size = runtime_.block_on(stream_->read(buffer_));
    if (!size) return size.error();
    return std::string(buffer_.data(), *size);
  }

  RealRuntime runtime_;
  std::array<char, 4096> buffer_{};
  std::unique_ptr<Stream> stream_ = std::make_unique<Stream>(runtime_);
};

TEST(AddressTest, IsReadable) {
  EXPECT_EQ((Address{.host = "db7", .port = 6379}.to_string()), "db7:6379");
  EXPECT_EQ((Address{.path = "/run/redis.sock"}.to_string()), "/run/redis.sock");
}

// Connecting

TEST_F(StreamTest, BytesGoBothWays) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  const Socket peer = listener.accept();
  EXPECT_TRUE(write("hello"));
  EXPECT_EQ(peer.read(), "hello");
  peer.say("welcome");
  EXPECT_EQ(read().value(), "welcome");
}

TEST_F(StreamTest, AUnixSocketIsAsGood) {
  const test::TemporaryFolder folder;
  const Socket listener = listen_on_path(folder / "socket");
  ASSERT_TRUE(connect({.path = folder / "socket"}));
  const Socket peer = listener.accept();
  EXPECT_TRUE(write("hello"));
  EXPECT_EQ(peer.read(), "hello");
  peer.say("welcome");
  EXPECT_EQ(read().value(), "welcome");
}

TEST_F(StreamTest, NobodyListens) {
  const test::Port port;
  const Result<void> refused = connect({.host = "127.0.0.1", .port = port.number()});
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_EQ(refused.error().message,
            "127.0.0.1:" + std::to_string(port.number()) + ": no connection: Connection refused");
}

TEST_F(StreamTest, APathWithoutASocket) {
  const test::TemporaryFolder folder;
  const Result<void> refused = connect({.path = folder / "nothing"});
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().message, StartsWith(folder / "nothing" + ": no connection: "));
}

TEST_F(StreamTest, APathOf107BytesIsTheLongest) {
  const test::TemporaryFolder folder;
  const std::string longest = folder / std::string(106 - folder.path().size(), 'x');
  ASSERT_EQ(longest.size(), 107u);
  const Socket listener = listen_on_path(longest);
  EXPECT_TRUE(connect({.path = longest}));
  const Result<void> refused = connect({.path = longest + "x"});
  EXPECT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("107 bytes"));
}

TEST_F(StreamTest, AHostThatNeverAnswersIsLeftAtTheDeadline) {
  const Socket full = listen_on_tcp(0);
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::future<Result<void>>> begun;
  for (int i = 0; i < 4; ++i) {  // the first ones fill the room that there is
    streams.push_back(std::make_unique<Stream>(runtime_));
    begun.push_back(begin(streams.back()->connect(address_of(full), in(300ms))));
  }
  const Result<void> last = take(begun.back());
  EXPECT_EQ(last.code(), Errc::store_unavailable);
  EXPECT_THAT(last.error().message, EndsWith(": no connection: it took too long"));
  on_executor([&] { streams.clear(); });
}

TEST_F(StreamTest, ADeadlineInThePastConnectsToNobody) {
  const test::Port port;
  EXPECT_EQ(connect({.host = "127.0.0.1", .port = port.number()}, -1s).code(), Errc::store_unavailable);
  EXPECT_EQ(connect({.host = "127.0.0.1", .port = port.number()}, 0s).code(), Errc::store_unavailable);
}

TEST_F(StreamTest, WithoutADeadlineItConnectsAsWell) {
  const Socket listener = listen_on_tcp();
  EXPECT_TRUE(runtime_.block_on(stream_->connect(address_of(listener), Deadline::never())));
}

TEST_F(StreamTest, ANameIsLookedUpAndEachOfItsAddressesTried) {
  const Socket listener = listen_on_tcp();  // 127.0.0.1 alone: ::1 refuses
  ASSERT_TRUE(connect(address_of(listener, "localhost")));
  const Socket peer = listener.accept();
  EXPECT_TRUE(write("hello"));
  EXPECT_EQ(peer.read(), "hello");
}

TEST_F(StreamTest, ANameThatNoHostCanHaveIsNotFound) {
  const std::string name(64, 'x');  // one byte more than a name may have between two dots: nobody is asked
  const Result<void> unknown = connect({.host = name, .port = 1});
  EXPECT_EQ(unknown.code(), Errc::store_unavailable);
  EXPECT_THAT(unknown.error().message, StartsWith(name + ":1 cannot be looked up: "));
}

/// The socket that has come since.
int new_socket(const std::map<int, std::string>& before) {
  std::vector<int> ours;
  for (const auto& [fd, what] : open_files()) {
    const auto old = before.find(fd);
    if (what.starts_with("socket:") && (old == before.end() || old->second != what)) ours.push_back(fd);
  }
  EXPECT_EQ(ours.size(), 1u);
  return ours.empty() ? -1 : ours.front();
}

// A program that our process starts must not keep a connection open.
TEST_F(StreamTest, NoChildInheritsIt) {
  const test::TemporaryFolder folder;
  const Socket tcp = listen_on_tcp();
  const Socket local = listen_on_path(folder / "socket");
  for (const Address& address : {address_of(tcp), Address{.path = folder / "socket"}}) {
    const std::map<int, std::string> before = open_files();
    Stream stream(runtime_);
    ASSERT_TRUE(runtime_.block_on(stream.connect(address, in(30s))));
    EXPECT_TRUE(::fcntl(new_socket(before), F_GETFD) & FD_CLOEXEC) << address.to_string();
    on_executor([&] { stream.close(); });
  }
}

// Nothing is asked on a connection that listens: only the kernel can notice that the other host is gone.
TEST_F(StreamTest, TheKernelAsksASilentPeerForASignOfLife) {
  const Socket listener = listen_on_tcp();
  const std::map<int, std::string> before = open_files();
  ASSERT_TRUE(connect(address_of(listener)));
  const int fd = new_socket(before);
  const auto option = [fd](int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  const int seconds =
      option(IPPROTO_TCP, TCP_KEEPIDLE) + option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_LE(seconds, 30) << "until it is given up";
}

TEST_F(StreamTest, ATryThatFailsLeavesNoFileOpen) {
  const test::Port port;
  ASSERT_FALSE(connect({.host = "127.0.0.1", .port = port.number()}));
  on_executor([&] { stream_->close(); });
  const std::size_t before = open_files().size();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(connect({.host = "127.0.0.1", .port = port.number()}));
  }
  on_executor([&] { stream_->close(); });
  EXPECT_EQ(open_files().size(), before);
}

// The end of a connection

TEST_F(StreamTest, TheOtherSideGoes) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  { const Socket peer = listener.accept(); }
  const Result<std::string> nothing = read();
  EXPECT_EQ(nothing.code(), Errc::store_unavailable);
  EXPECT_THAT(nothing.error().message, StartsWith(address_of(listener).to_string() + ": the connection is gone: "));
  EXPECT_TRUE(eventually([&] { return write("hello").code() == Errc::store_unavailable; }));
}

TEST_F(StreamTest, CloseEndsWhatIsUnderWay) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  const Socket peer = listener.accept();
  const std::string flood(64 << 20, 'x');  // more than the kernel takes
  auto reading = begin(stream_->read(buffer_));
  auto writing = begin(stream_->write(flood));
  EXPECT_FALSE(peer.read().empty());
  on_executor([&] { stream_->close(); });
  EXPECT_EQ(take(reading).code(), Errc::store_unavailable);
  EXPECT_EQ(take(writing).code(), Errc::store_unavailable);
  on_executor([&] { stream_->close(); });
}

TEST_F(StreamTest, CloseEndsAConnectUnderWay) {
  const Socket full = listen_on_tcp(0);
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::future<Result<void>>> begun;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(std::make_unique<Stream>(runtime_));
    begun.push_back(begin(streams.back()->connect(address_of(full), Deadline::never())));
  }
  ASSERT_TRUE(eventually([&] { return begun[0].wait_for(0s) == std::future_status::ready; }));
  on_executor([] {});
  on_executor([&] {
    for (const auto& stream : streams) stream->close();
  });
  EXPECT_EQ(take(begun.back()).code(), Errc::store_unavailable);
  on_executor([&] { streams.clear(); });
}

TEST_F(StreamTest, AReadOfTheOldConnectionTakesNothingFromTheNewOne) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  const Socket old = listener.accept();
  std::array<char, 16> old_buffer{};
  auto reading = begin(stream_->read(old_buffer));
  ASSERT_TRUE(connect(address_of(listener)));
  EXPECT_EQ(take(reading).code(), Errc::store_unavailable);
  EXPECT_EQ(old.read(), "") << "the old one is closed";
  const Socket peer = listener.accept();
  peer.say("welcome");
  EXPECT_EQ(read().value(), "welcome");
}

TEST_F(StreamTest, ItMayGoWhileItReads) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  const Socket peer = listener.accept();
  auto reading = begin(stream_->read(buffer_));
  on_executor([&] { stream_.reset(); });
  EXPECT_EQ(take(reading).code(), Errc::store_unavailable);
  EXPECT_EQ(peer.read(), "");
}

TEST(StreamAtTheEnd, ItMayOutliveItsRuntime) {
  const Socket listener = listen_on_tcp();
  auto runtime = std::make_unique<RealRuntime>();
  const auto buffer = std::make_shared<std::array<char, 16>>();
  auto stream = std::make_shared<Stream>(*runtime);
  ASSERT_TRUE(runtime->block_on(stream->connect(address_of(listener), Deadline::never())));
  base::spawn(*runtime, [](std::shared_ptr<Stream> kept, auto into) -> awaitable<void> {
    Result<std::size_t> size = co_await kept->read(*into);
    (void)size;
  }(stream, buffer));
  const std::weak_ptr<Stream> weak = stream;
  stream.reset();
  runtime.reset();
  EXPECT_TRUE(weak.expired());
}

// write_now

TEST_F(StreamTest, NothingIsWrittenToNobody) {
  on_executor([&] { EXPECT_EQ(stream_->write_now("hello"), 0u); });
}

TEST_F(StreamTest, AsMuchIsWrittenAsGoesAtOnce) {
  const Socket listener = listen_on_tcp();
  ASSERT_TRUE(connect(address_of(listener)));
  const Socket peer = listener.accept();
  on_executor([&] { EXPECT_EQ(stream_->write_now("hello"), 5u); });
  EXPECT_EQ(peer.read(), "hello");
  const std::string flood(64 << 20, 'x');
  on_executor([&] {
    const std::size_t size = stream_->write_now(flood);
    EXPECT_GT(size, 0u);
    EXPECT_LT(size, flood.size());
    stream_->close();
    EXPECT_EQ(stream_->write_now("hello"), 0u);
  });
}

// TLS, as far as no certificate is needed

class TlsStreamTest : public StreamTest {
 protected:
  Address address() const {
    Address address = address_of(listener_);
    address.tls = TlsContext::make({}).value();
    return address;
  }
  std::future<Result<void>> shake_hands(Duration wait) { return begin(stream_->connect(address(), in(wait))); }
  const Socket listener_ = listen_on_tcp();
};

TEST_F(TlsStreamTest, AServerThatSaysNothingIsLeftAtTheDeadline) {
  base::ManualClock clock;
  RealRuntime runtime{clock};
  auto stream = std::make_unique<Stream>(runtime);
  auto begun = test::begin(runtime, stream->connect(address(), Deadline::in(clock.now(), 300ms)));
  const Socket peer = listener_.accept();
  EXPECT_FALSE(peer.read().empty()) << "it is connected and shakes hands";
  clock.move_to(clock.now() + 300ms);
  const Result<void> late = take(begun);
  test::on_executor(runtime, [&] { stream.reset(); });
  EXPECT_EQ(late.code(), Errc::store_unavailable);
  EXPECT_THAT(late.error().message, EndsWith(": no TLS connection: it took too long"));
}

TEST_F(TlsStreamTest, AServerThatGoesIsOnlyAway) {
  auto begun = shake_hands(30s);
  {
    const Socket peer = listener_.accept();
    EXPECT_FALSE(peer.read().empty());
  }
  EXPECT_EQ(take(begun).code(), Errc::store_unavailable);
}

TEST_F(TlsStreamTest, AServerWithoutTlsIsNotTrusted) {
  auto begun = shake_hands(30s);
  const Socket peer = listener_.accept();
  EXPECT_THAT(peer.read(), StartsWith("\x16\x03")) << "nothing is said in plain text";
  peer.say("-ERR unknown command\r\n");
  EXPECT_EQ(take(begun).code(), Errc::permission_denied);
  on_executor([&] { EXPECT_EQ(stream_->write_now("hello"), 0u); });
}

TEST_F(TlsStreamTest, AProtocolIsOfferedByItsName) {
  Address with = address();
  with.tls = TlsContext::make({}, "h2").value();
  auto begun = begin(stream_->connect(with, in(30s)));
  const Socket peer = listener_.accept();
  EXPECT_THAT(peer.read(), HasSubstr(std::string("\0\x03\x02h2", 5))) << "a list of three bytes, with one name of two";
  on_executor([&] { stream_->close(); });
  EXPECT_FALSE(take(begun));
}

}  // namespace
}  // namespace pawl::store::net
