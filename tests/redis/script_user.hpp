#pragma once

#include "store/redis/script.hpp"
#include "tests/support/naive_redis.hpp"
#include "tests/support/redis_server.hpp"

#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace pawl::test {

/// Runs the scripts that clients run, for sessions and claims that no client looks after: they never renew, and never
/// answer. The server must know its epoch already (a client was there).
class ScriptUser {
 public:
  using Script = store::redis::Script;

  /// What a claim asks for, beside its lock.
  struct Wish {
    std::string mode = "x";
    std::string lock_delay = "0";
    std::string permits = "0";
    std::string of = permits;  ///< that there are
  };

  explicit ScriptUser(const RedisServer& server) : redis_(server.port()) {}

  /// 32 hex digits, of a session or of a claim.
  static std::string id(int number) {
    return (std::ostringstream() << std::hex << std::setw(32) << std::setfill('0') << number).str();
  }

  void open(int session, const std::string& lease = "3600000") {
    run(scripts().open_session, {id(session), lease, "mail", "host", "1", "", "secret"});
  }
  /// `lock` with its kind: "rw:job". Queues where it is not free.
  void claim(int session, int claim, const std::string& lock, const Wish& wish) {
    const std::string name = lock.substr(lock.find(':') + 1);
    run(scripts().claim,
        {id(claim), id(session), lock, name, wish.mode, wish.permits, wish.of, "1000", wish.lock_delay, "1", "", ""});
  }
  void claim(int session, int number, const std::string& lock) { claim(session, number, lock, Wish()); }
  /// Of `simple` or `redisson`: a mutex. Waits where it is not free.
  void claim_key(int session, int claim, const std::string& scheme, const std::string& name) {
    const std::string lock = scheme + ":" + name, key = "{pawl}:" + lock;
    std::string field = id(claim) + ":1";  // as Redisson writes a uuid
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) field.insert(dash, "-");
    run(store::redis::key_scripts().claim, {id(claim), id(session), lock, scheme, key, field,
                                            "redisson_lock__channel:" + key, "3600000", "0", "1", "", name});
  }
  void withdraw(int session, int claim, const std::string& lock) {
    run(scripts().withdraw, {id(claim), id(session), lock, "0", "0"});
  }
  /// The same for a claim that may still be under way: it must not be granted when it arrives.
  void withdraw_unsettled(int session, int claim, const std::string& lock) {
    run(scripts().withdraw, {id(claim), id(session), lock, "0", "1"});
  }
  void close(int session) { run(scripts().close_session, {id(session)}); }
  /// Its time is over, since so many milliseconds after 1970: those that ended first are swept first.
  void let_end(int session, int since) {
    redis_.call({"ZADD", "{pawl}:ends", std::to_string(since), "s" + id(session)});
  }

  /// All that would end some day has ended long ago: sessions and lock-delays.
  void let_all_end() {
    for (const char* keys : {"{pawl}:ends", "{pawl}:g:*"}) {
      redis_.call({"EVAL",
                   "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do"
                   " for _, it in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZADD', key, 1, it) end end",
                   "0", keys});
    }
  }

  naive::Redis& redis() { return redis_; }

 private:
  static const store::redis::QueueScripts& scripts() { return store::redis::queue_scripts(); }

  void run(const Script& script, const std::vector<std::string>& arguments) {
    if (epoch_.empty()) epoch_ = redis_.call({"HGET", "{pawl}:meta", "epoch"}).value();
    const std::string quiet = "local function run()\n" + script.text + "\nend\nrun()\nreturn 1";
    std::vector<std::string> words{"EVAL", quiet, "1", "{pawl}:meta", "{pawl}:", epoch_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    redis_.call(words);
  }

  naive::Redis redis_;
  std::string epoch_;
};

}  // namespace pawl::test
