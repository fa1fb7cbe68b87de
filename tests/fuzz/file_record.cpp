// The records of the file store's database: any bytes can be read, also those of a damaged file, and what was read is
// written and read as the same.
// Input: one byte that says which record, then its bytes.

#include "store/file/records.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <pawl/semaphore.hpp>

namespace pawl::fuzz::file_record {

using namespace store::file;

void check_lock(std::string_view bytes) {
  LockRecord lock = LockRecord::unpack(bytes);
  must(lock.taken.size() == lock.permits, "every permit is taken or free");
  must(lock.permits <= Semaphore::most_permits, "no lock has more permits than a semaphore may have");
  must(!lock.key.name.bytes().empty(), "a lock has a name");
  must(LockRecord::unpack(lock.pack()).pack() == lock.pack(), "a lock comes back from its record");
  const auto slots = lock.take_slots(3);
  lock.free_slots(slots);
  if (lock.holder) lock.free_slots(lock.holder->slots);
  must(lock_key(lock.key).size() <= 401, "a lock's key fits into LMDB");
}

void run(std::string_view input) {
  const std::uint8_t which = take_byte(input);
  switch (which % 6) {
    case 0: return check_lock(input);
    case 1: {
      const ClaimRecord claim = unpack_claim(input);
      return must(pack(unpack_claim(pack(claim))) == pack(claim), "a claim comes back from its record");
    }
    case 2: {
      const SessionRecord session = SessionRecord::unpack(input);
      return must(SessionRecord::unpack(session.pack()).pack() == session.pack(), "a session comes back");
    }
    case 3: {
      const store::Chronicle chronicle = unpack_chronicle(input);
      must(chronicle.entries.size() <= store::Chronicle::most, "a chronicle has its limit");
      return must(pack(unpack_chronicle(pack(chronicle))) == pack(chronicle), "a chronicle comes back");
    }
    case 4: {
      const ClaimPlace place = ClaimPlace::unpack(input);
      return must(ClaimPlace::unpack(place.pack()).pack() == place.pack(), "a claim's place comes back");
    }
    default: {
      const Counters counters = Counters::unpack(input);
      return must(Counters::unpack(counters.bytes()) == counters, "the counters come back");
    }
  }
}

}  // namespace pawl::fuzz::file_record

PAWL_FUZZ_TARGET(file_record, pawl::fuzz::file_record::run);
