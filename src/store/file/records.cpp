#include "store/file/records.hpp"

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
    std::memcpy(static_cast<void*>(&value), bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return *this;
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  std::string_view get_text() {
    const auto size = get<std::uint32_t>();
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(text.size());
    return text;
  }

 private:
  std::string_view bytes_;
};

void put_claim(Packer& out, const ClaimRecord& claim) {
  out.put(claim.id).put(claim.session).put(claim.ticket).put(claim.since).put(claim.lease).put(claim.lock_delay);
  out.put(claim.token.epoch()).put(claim.token.counter());
  out.put(claim.mode).put(claim.release_requested).put(claim.slot).put_text(claim.label);
}

ClaimRecord get_claim(Unpacker& in) {
  ClaimRecord claim;
  in.get(claim.id).get(claim.session).get(claim.ticket).get(claim.since).get(claim.lease).get(claim.lock_delay);
  const auto epoch = in.get<std::uint64_t>();
  claim.token = Token(epoch, in.get<std::uint64_t>());
  in.get(claim.mode).get(claim.release_requested).get(claim.slot);
  claim.label = in.get_text();
  return claim;
}

LockName name_of(std::string_view bytes) {
  static const LockName unknown = LockName::make("?").value();
  const Result<LockName> name = LockName::make(bytes);
  return name ? *name : unknown;
}

}  // namespace

std::string lock_key(const LockKey& key) {
  std::string bytes(1, static_cast<char>('0' + static_cast<int>(key.kind)));
  return bytes += base::fit_name(key.name.bytes(), longest_name);
}

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

std::string LockRecord::pack() const {
  Packer out;
  out.put(key.kind).put_text(key.name.bytes()).put(number).put(waiters).put(shut_until).put(holder.has_value());
  if (holder) put_claim(out, *holder);
  return out.take();
}

LockRecord LockRecord::unpack(std::string_view bytes) {
  Unpacker in(bytes);
  const Kind kind = in.get<Kind>();
  LockRecord out{.key = {kind, name_of(in.get_text())}};
  in.get(out.number).get(out.waiters).get(out.shut_until);
  if (in.get<bool>()) out.holder = get_claim(in);
  return out;
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
