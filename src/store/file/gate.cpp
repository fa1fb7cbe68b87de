#include "store/file/gate.hpp"

#include "base/lock_name.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pawl::store::file {

namespace {

constexpr std::size_t header_size = 4096;
constexpr std::size_t counters = 1024;
constexpr std::size_t gate_size = header_size + counters * sizeof(std::atomic<std::uint32_t>);
constexpr std::array<char, 8> magic = {'p', 'a', 'w', 'l', 'g', 'a', 't', 'e'};

constexpr off_t first_inotify = 1024;
constexpr std::uint64_t inotify_places = 64;
constexpr off_t first_process = off_t{1} << 32;
constexpr std::uint64_t process_bits = (std::uint64_t{1} << 61) - 1;

off_t byte_of(ProcessKey process) { return first_process + static_cast<off_t>(process & process_bits); }

}  // namespace

struct Gate::Header {
  std::array<char, 8> name;
  std::uint32_t layout;
  std::uint32_t machine;
  std::atomic<std::uint32_t> finished;
  std::uint32_t reserved;
  Place place;
  std::uint64_t database;
  std::atomic<std::uint64_t> written;
  WriterMutex mutex;
};

Result<Gate> Gate::open(const Folder& folder) {
  Result<Folder::File> file = folder.open_file("gate");
  if (!file) return file.error();
  Gate gate(std::move(file->fd));
  gate.shown_ = folder.shown("gate");
  struct stat status {};
  if (::fstat(gate.fd_.get(), &status) != 0) return system_failure("look at", gate.shown_, errno);
  gate.device_ = status.st_dev;
  gate.inode_ = status.st_ino;
  return gate;
}

Gate::Gate(Gate&& other) noexcept
    : fd_(std::move(other.fd_)),
      shown_(std::move(other.shown_)),
      memory_(std::exchange(other.memory_, nullptr)),
      own_(other.own_),
      device_(other.device_),
      inode_(other.inode_) {}

Gate::~Gate() {
  if (memory_ != nullptr) ::munmap(memory_, gate_size);
}

Result<std::optional<Found>> Gate::found() const {
  static_assert(sizeof(Header) <= header_size);
  std::array<char, sizeof(Header)> bytes{};
  const ssize_t size = ::pread(fd_.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) return system_failure("read", shown_, errno);
  std::array<char, magic.size()> name{};
  std::memcpy(name.data(), bytes.data(), name.size());
  if (size == 0 || name == std::array<char, magic.size()>{}) return std::optional<Found>();
  if (name != magic) {
    return Error{Errc::invalid_argument,
                 '"' + base::printable(shown_) + "\" is not pawl's: a file store needs a folder of its own"};
  }
  Found found;
  std::memcpy(&found.layout, bytes.data() + offsetof(Header, layout), sizeof found.layout);
  std::memcpy(&found.machine, bytes.data() + offsetof(Header, machine), sizeof found.machine);
  std::uint32_t finished = 0;
  std::memcpy(&finished, bytes.data() + offsetof(Header, finished), sizeof finished);
  struct stat status {};
  found.finished = finished == 1 && ::fstat(fd_.get(), &status) == 0 && status.st_size >= off_t{gate_size};
  std::memcpy(&found.place, bytes.data() + offsetof(Header, place), sizeof found.place);
  return std::optional<Found>(found);
}

Result<void> Gate::map() {
  if (memory_ != nullptr) return {};
  void* memory = ::mmap(nullptr, gate_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) return system_failure("map", shown_, errno);
  memory_ = memory;
  return {};
}

Result<void> Gate::make(const Place& here) {
  if (auto room = allocate(fd_, gate_size, shown_); !room) return room;
  if (auto mapped = map(); !mapped) return mapped;
  header().finished.store(0);
  header().name = magic;
  header().layout = current_layout;
  header().machine = this_machine;
  header().place = here;
  header().mutex.make();
  return {};
}

Result<void> Gate::join(bool alone) {
  if (auto mapped = map(); !mapped) return mapped;
  if (alone) header().mutex.make();
  return {};
}

void Gate::finish(const Place& here, ino_t database) {
  header().place = here;
  header().database = database;
  header().finished.store(1);
}

ino_t Gate::database() const { return header().database; }

std::uint64_t Gate::written() const { return header().written.load(std::memory_order_relaxed); }

void Gate::note_write(std::uint64_t unix_ms) const { header().written.store(unix_ms, std::memory_order_relaxed); }

WriterMutex& Gate::mutex() const { return header().mutex; }

std::atomic<std::uint32_t>& Gate::lost_letters(ProcessKey process) const {
  auto* first = reinterpret_cast<std::atomic<std::uint32_t>*>(static_cast<char*>(memory_) + header_size);
  return first[process % counters];
}

bool Gate::take(off_t start, Sharing sharing) const {
  struct flock lock {};
  lock.l_type = sharing == Sharing::alone ? F_WRLCK : F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = 1;
  return ::fcntl(fd_.get(), F_SETLK, &lock) == 0;
}

std::optional<Somebody> Gate::look(off_t start, off_t length) const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  // When the kernel cannot tell, whoever is asked for counts as alive: his lease will tell.
  if (::fcntl(fd_.get(), F_GETLK, &lock) != 0) return Somebody{};
  if (lock.l_type == F_UNLCK) return std::nullopt;
  return Somebody{lock.l_pid > 0 ? lock.l_pid : 0};
}

std::optional<Somebody> Gate::try_take(Right right, Sharing sharing) const {
  const auto start = static_cast<off_t>(right);
  if (take(start, sharing)) return std::nullopt;
  return look(start, 1).value_or(Somebody{});
}

void Gate::give_back(Right right) const {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(right);
  lock.l_len = 1;
  ::fcntl(fd_.get(), F_SETLK, &lock);
}

bool Gate::try_take_inotify() const {
  // From a place of its own: the first one is free then, as a rule.
  for (std::uint64_t i = 0; i < inotify_places; ++i) {
    if (take(first_inotify + static_cast<off_t>((own_ + i) % inotify_places))) return true;
  }
  return false;
}

bool Gate::announce(ProcessKey process) {
  if (!take(byte_of(process))) return false;
  own_ = process;
  return true;
}

std::optional<Somebody> Gate::owner(ProcessKey process) const { return look(byte_of(process), 1); }

std::optional<Somebody> Gate::anybody() const { return look(first_process, 0); }

bool Gate::gone() const {
  struct stat status {};
  return ::fstat(fd_.get(), &status) == 0 && status.st_nlink == 0;
}

}  // namespace pawl::store::file
