#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pawl::store::redis {

/// 40 hex digits.
std::string sha1_of(std::string_view text);

/// What the server runs, known to it by its hash.
struct Script {
  explicit Script(std::initializer_list<std::string_view> parts);

  std::string text;
  std::string sha1;  ///< 40 hex digits
};

/// Those of the `queue` scheme share one beginning.
struct QueueScripts {
  QueueScripts();
  Script claim, withdraw, look, downgrade, relabel, revoke, inspect, check, succession, open_session, renew,
      close_session, session_claims;
};

/// Those of `simple` and `redisson`, beside the ones that are not the queue's alone.
struct KeyScripts {
  KeyScripts();
  Script claim, inspect, check;
};

const QueueScripts& queue_scripts();
const KeyScripts& key_scripts();
const Script& meta_script();

}  // namespace pawl::store::redis
