#include "store/file/records.hpp"

#include <pawl/semaphore.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace pawl::store::file {

namespace {

constexpr std::size_t longest_name = 400;  // in a key; the record has the whole name

class Packer {
 public:
  Packer() { bytes_.reserve(192); }
  template <class T>
  Packer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Bytes that are missing read as zero: a damaged record must not take us beyond its end.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  Unpacker& get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() < sizeof value) {
      bytes_ = {};
      return *this;
    }
    if constexpr (std::is_same_v<T, bool>) {
      value = bytes_.front() != 0;  // not every byte is a bool
    } else {
      std::memcpy(static_cast<void*>(&value), bytes_.data(), sizeof value);
    }
    bytes_.remove_prefix(sizeof value);
    return *this;
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  bool more() const { return !bytes_.empty(); }
  std::string_view get_text() {
    const auto size = get<std::uint32_t>();
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(text.size());
    return text;
  }

 private:
  std::string_view bytes_;
};

void put_slots(Packer& out, const Slots& slots) {
  out.put(static_cast<std::uint32_t>(slots.size()));
  for (const std::uint32_t slot : slots) out.put(slot);
}

Slots get_slots(Unpacker& in) {
  Slots slots;
  const auto size = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < size && in.more(); ++i) slots.push_back(in.get<std::uint32_t>());
  return slots;
}

void put_claim(Packer& out, const ClaimRecord& claim) {
  out.put(claim.id).put(claim.session).put(claim.ticket).put(claim.since).put(claim.lease).put(claim.lock_delay);
  out.put(claim.token.epoch()).put(claim.token.counter());
  out.put(claim.mode).put(claim.release_requested).put(claim.permits);
  put_slots(out, claim.slots);
  out.put_text(claim.label).put_text(claim.value);
}

ClaimRecord get_claim(Unpacker& in) {
  ClaimRecord claim;
  in.get(claim.id).get(claim.session).get(claim.ticket).get(claim.since).get(claim.lease).get(claim.lock_delay);
  const auto epoch = in.get<std::uint64_t>();
  claim.token = Token(epoch, in.get<std::uint64_t>());
  in.get(claim.mode).get(claim.release_requested).get(claim.permits);
  claim.slots = get_slots(in);
  claim.label = in.get_text();
  claim.value = in.get_text();
  return claim;
}

char letter_of(Kind kind) { return static_cast<char>('0' + static_cast<int>(kind)); }

LockName name_of(std::string_view bytes) {
  static const LockName unknown = LockName::make("?").value();
  const Result<LockName> name = LockName::make(bytes);
  return name ? *name : unknown;
}

}  // namespace

std::string lock_key(const LockKey& key) {
  std::string bytes(1, letter_of(key.kind));
  return bytes += base::fit_name(key.name.bytes(), longest_name);
}

bool is_election(std::string_view lock_key) { return lock_key.starts_with(letter_of(Kind::election)); }

Counters Counters::unpack(std::string_view bytes) {
  static_assert(std::has_unique_object_representations_v<Counters>);
  return Unpacker(bytes).get<Counters>();
}

std::string SessionRecord::pack() const {
  Packer out;
  out.put(lease).put(ends).put(process).put(mailbox).put(changes).put(owner.pid);
  return out.put_text(owner.host).put_text(owner.label).take();
}

SessionRecord SessionRecord::unpack(std::string_view bytes) {
  SessionRecord out;
  Unpacker in(bytes);
  in.get(out.lease).get(out.ends).get(out.process).get(out.mailbox).get(out.changes).get(out.owner.pid);
  out.owner.host = in.get_text();
  out.owner.label = in.get_text();
  return out;
}

std::string pack(const ClaimRecord& record) {
  Packer out;
  put_claim(out, record);
  return out.take();
}

ClaimRecord unpack_claim(std::string_view bytes) {
  Unpacker in(bytes);
  return get_claim(in);
}

std::string pack(const Chronicle& chronicle) {
  Packer out;
  for (const Chronicle::Entry& entry : chronicle.entries) {
    const Leader& leader = entry.leader;
    out.put(leader.token.epoch()).put(leader.token.counter()).put(entry.since);
    out.put(entry.until.has_value()).put(entry.until.value_or(Time())).put(leader.owner.pid);
    out.put_text(leader.owner.host).put_text(leader.owner.label).put_text(leader.value);
  }
  return out.take();
}

Chronicle unpack_chronicle(std::string_view bytes) {
  Chronicle chronicle;
  Unpacker in(bytes);
  while (in.more() && chronicle.entries.size() < Chronicle::most) {
    Chronicle::Entry entry;
    const auto epoch = in.get<std::uint64_t>();
    entry.leader.token = Token(epoch, in.get<std::uint64_t>());
    in.get(entry.since);
    const bool over = in.get<bool>();
    const Time until = in.get<Time>();
    if (over) entry.until = until;
    in.get(entry.leader.owner.pid);
    entry.leader.owner.host = in.get_text();
    entry.leader.owner.label = in.get_text();
    entry.leader.value = in.get_text();
    chronicle.entries.push_back(std::move(entry));
  }
  return chronicle;
}

std::string LockRecord::pack() const {
  Packer out;
  out.put(key.kind).put_text(key.name.bytes()).put(number).put(waiters).put(sharers).put(permits);
  for (std::uint32_t i = 0; i < permits; ++i) out.put(static_cast<bool>(taken[i]));
  out.put(static_cast<std::uint32_t>(ghosts.size()));
  for (const Ghost& ghost : ghosts) put_slots(out.put(ghost.until).put(ghost.mode), ghost.slots);
  out.put(holder.has_value());
  if (holder) put_claim(out, *holder);
  return out.take();
}

LockRecord LockRecord::unpack(std::string_view bytes) {
  Unpacker in(bytes);
  const Kind kind = in.get<Kind>();
  LockRecord out{.key = {kind, name_of(in.get_text())}};
  in.get(out.number).get(out.waiters).get(out.sharers).get(out.permits);
  out.permits = std::min(out.permits, Semaphore::most_permits);
  for (std::uint32_t i = 0; i < out.permits && in.more(); ++i) out.taken.push_back(in.get<bool>());
  out.taken.resize(out.permits);
  const auto ghosts = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < ghosts && in.more(); ++i) {
    Ghost ghost;
    in.get(ghost.until).get(ghost.mode);
    ghost.slots = get_slots(in);
    out.ghosts.push_back(std::move(ghost));
  }
  if (in.get<bool>()) out.holder = get_claim(in);
  return out;
}

Slots LockRecord::take_slots(std::uint32_t number) {
  Slots slots;
  for (std::uint32_t slot = 0; slot < permits && slots.size() < number; ++slot) {
    if (taken[slot]) continue;
    taken[slot] = true;
    slots.push_back(slot);
  }
  return slots;
}

void LockRecord::free_slots(const Slots& slots) {
  for (const std::uint32_t slot : slots) {
    if (slot < taken.size()) taken[slot] = false;
  }
}

std::string ClaimPlace::pack() const { return Packer().put(tombstone).put(ticket).put_text(lock).take(); }

ClaimPlace ClaimPlace::unpack(std::string_view bytes) {
  ClaimPlace out;
  Unpacker in(bytes);
  in.get(out.tombstone).get(out.ticket);
  out.lock = in.get_text();
  return out;
}

}  // namespace pawl::store::file
