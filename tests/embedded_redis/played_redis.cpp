#include "tests/embedded_redis/played_redis.hpp"

#include "store/redis/redis_store.hpp"
#include "tests/embedded_redis/census.hpp"
#include "tests/embedded_redis/server.hpp"
#include "tests/embedded_redis/transitions.hpp"

#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace pawl::test {

namespace {

using namespace std::chrono_literals;
using store::redis::queue_scripts;
using store::redis::Script;

const store::Capabilities& capabilities_of(std::string_view scheme) {
  if (scheme == "queue") return store::redis::Queue::declared;
  if (scheme == "simple") return store::redis::Simple::declared;
  if (scheme == "redisson") return store::redis::Redisson::declared;
  throw std::invalid_argument("no such scheme: " + std::string(scheme));
}

class PlayedRedis final : public PlayedStore {
 public:
  PlayedRedis(base::SimWorld& world, base::SimProcess& network, const std::string& scheme,
              std::shared_ptr<embedded::Scripts> scripts)
      : world_(world),
        scheme_(capabilities_of(scheme)),
        scripts_(std::move(scripts)),
        longest_(std::array<Duration, 4>{0ms, 0ms, 1ms, 10ms}[world.random() % 4]),
        server_(std::make_shared<embedded::Server>(world, network, *scripts_, [this] { return any_latency(); })),
        census_(server_->keyspace(), config_.prefix, scheme),
        transitions_(server_->keyspace(), config_.prefix) {
    server_->after_command = [this](const embedded::Arguments& words, const std::vector<std::string>& letters) {
      auto wrong = transitions_.look(words, letters);
      if (wrong && !wrong_) wrong_ = std::move(wrong);
    };
  }

  const store::Capabilities& capabilities() const override { return scheme_; }
  Duration tick() const override { return 1ms; }
  bool may_lose_all() const override { return !scheme_.election; }  // who has led would be forgotten as well
  Duration latency() const override { return longest_; }

  std::shared_ptr<FaultyStore> connect(base::SimProcess& client, std::shared_ptr<FaultPlan> faults) override {
    store::redis::Config config = config_;
    config.addresses.push_back({.host = "embedded", .inside = server_});
    auto store = std::make_shared<store::redis::RedisStore>(client, std::move(config));
    return std::make_shared<FaultyStore>(std::move(store), client, std::move(faults), client);
  }

  std::vector<LockView> locks() override { return census_.locks(); }
  std::uint64_t requests() override { return server_->requests(); }
  std::optional<std::string> complaint() override { return wrong_ ? wrong_ : census_.complaint(); }

  Kept kept() override {
    while (census_.next_end().value_or(server_->keyspace().milliseconds() + 1) <= server_->keyspace().milliseconds()) {
      run(queue_scripts().renew, {"", "0"});  // of no session: it sweeps, and nothing else
    }
    return {.sessions = census_.sessions(), .claims = census_.claims(), .keys = census_.used_locks()};
  }

  void forget(store::SessionId session) override {
    bool more = true;
    while (more) {
      const embedded::Answer answer = run(queue_scripts().close_session, {base::to_string(session)});
      more = answer == embedded::Answer::of(0);  // not: "stale", when all is lost
    }
  }

  Disaster strike(const base::SimProcess& victim, const std::string& name) override {
    switch (world_.random() % 8) {
      case 0:
      case 1: server_->break_connections(&victim); return {"the connections of " + name + " break"};
      case 2: server_->forget_scripts(); return {"the server forgets its scripts"};
      case 3: server_->restart(true); return {"the server restarts with its data"};
      case 4:
        if (!may_lose_all()) return {};
        server_->keyspace().clear();
        return {.what = "the server loses its data", .lost_all = true};
      default: return {};
    }
  }

 private:
  Duration any_latency() {
    if (longest_ == 0ms) return 0ms;
    return Duration(static_cast<Duration::rep>(world_.random() % static_cast<std::uint64_t>(longest_.count())));
  }

  embedded::Answer run(const Script& script, const embedded::Arguments& arguments) {
    const std::string meta = config_.prefix + "meta";
    const std::string epoch = server_->keyspace().execute({"HGET", meta, "epoch"}).text;
    embedded::Arguments words{"EVAL", script.text, "1", meta, config_.prefix, epoch};
    words.insert(words.end(), arguments.begin(), arguments.end());
    embedded::Answer answer = server_->execute(words);
    if (answer.is_error()) throw std::runtime_error(answer.text);
    return answer;
  }

  base::SimWorld& world_;
  const store::Capabilities& scheme_;
  const std::shared_ptr<embedded::Scripts> scripts_;
  const Duration longest_;
  const store::redis::Config config_ = {};
  const std::shared_ptr<embedded::Server> server_;
  embedded::Census census_;
  embedded::Transitions transitions_;
  std::optional<std::string> wrong_;
};

}  // namespace

StoreMaker play_redis(std::string scheme, std::shared_ptr<embedded::Scripts> scripts) {
  return [scheme = std::move(scheme), scripts = std::move(scripts)](base::SimWorld& world, base::SimProcess& server) {
    return std::make_shared<PlayedRedis>(world, server, scheme, scripts);
  };
}

}  // namespace pawl::test
