// Readers together, writers alone; and a writer that goes on as a reader.
#include <pawl/pawl.hpp>

#include <cstdio>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

int main() {
  auto alice = pawl::Client::open("memory:config").value();
  auto bob = pawl::Client::open("memory:config").value();
  pawl::SharedMutex ours = alice.shared_mutex("config"), theirs = bob.shared_mutex("config");
  bool fine = true;

  if (auto writer = ours.acquire({.wait = 2s})) {  // alone
    fine = theirs.try_acquire_shared().code() == pawl::Errc::busy;
    fine = writer->downgrade() && fine;                 // from here on a reader, with the same token
    auto reader = theirs.acquire_shared({.wait = 2s});  // so others may read, too
    fine = reader && reader->token() > writer->token() && fine;
    fine = theirs.try_acquire().code() == pawl::Errc::busy && fine;
  }

  const std::shared_lock reading{ours};  // the Lockable face, reentrant per thread and mode
  fine = ours.this_thread_hold()->mode() == pawl::Mode::shared && fine;
  try {
    const std::scoped_lock writing{ours};  // from reading to writing there is no way: two who tried would wait for ever
    fine = false;
  } catch (const pawl::Exception& refused) {
    std::puts(refused.what());
    fine = refused.errc() == pawl::Errc::would_deadlock && fine;
  }
  return fine ? 0 : 1;
}
