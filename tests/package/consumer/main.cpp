// A program of somebody else: takes a lock in every store that is named, and prints the token.
#include <pawl/pawl.hpp>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

bool take_a_lock(const char* url) {
  auto client = pawl::Client::open(url);
  if (!client) return std::puts(client.error().to_string().c_str()), false;
  pawl::Mutex mutex = client->mutex("package/consumer");
  auto hold = mutex.acquire({.wait = 10s});
  if (!hold) return std::puts(hold.error().to_string().c_str()), false;
  std::printf("%s token %s\n", url, hold->token().to_string().c_str());
  return true;
}

}  // namespace

int main(int count, char** words) {
  std::printf("pawl %s\n", pawl::version);
  for (int i = 1; i < count; ++i) {
    if (!take_a_lock(words[i])) return 1;
  }
  return 0;
}
