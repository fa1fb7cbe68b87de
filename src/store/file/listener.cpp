#include "store/file/listener.hpp"

#include "base/wakeup.hpp"
#include "store/file/folder_watch.hpp"
#include "store/file/mail.hpp"
#include "store/file/visit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace pawl::store::file {

namespace {

constexpr Duration for_a_burial = std::chrono::seconds(5);
constexpr Duration before_the_folder_is_watched = std::chrono::milliseconds(100);

/// The number of 5.3; some C libraries have no function for it.
Fd open_process(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

/// Where the kernel watches no more of them, the descriptor is not open.
base::asio::posix::stream_descriptor watched(base::Runtime& runtime, Fd fd) {
  base::asio::posix::stream_descriptor descriptor(runtime.executor());
  boost::system::error_code refused;
  if (fd) descriptor.assign(fd.get(), refused);
  if (!refused) [[maybe_unused]]
    const int owned = fd.release();
  return descriptor;
}

}  // namespace

Result<std::shared_ptr<Listener>> Listener::open(std::shared_ptr<Environment> environment, base::Runtime& runtime) {
  auto listener = std::make_shared<Listener>(std::move(environment), runtime, runtime.random());
  if (auto listens = listener->listen(); !listens) return listens.error();
  return listener;
}

Listener::Listener(std::shared_ptr<Environment> environment, base::Runtime& runtime, std::uint64_t number)
    : environment_(std::move(environment)),
      runtime_(runtime),
      number_(number),
      name_(mailbox_name(environment_->process(), number)) {}

Listener::~Listener() {
  if (!environment_->inherited()) {
    if (environment_->gone(false)) return;  // whoever deletes the folder is at it
    environment_->folder().remove(name_.c_str());
    environment_->note_write(runtime_);
    return;
  }
  // In a child of fork(): to close them would take them out of the parent's event loop.
  [[maybe_unused]] const auto* left = mailbox_.release();
  left = folder_watch_.release();
  for (auto& [process, descriptor] : watched_) left = descriptor.release();
}

Result<void> Listener::listen() {
  Result<Fd> fd = open_mailbox(environment_->folder(), name_);
  if (!fd) return fd.error();
  environment_->note_write(runtime_);
  lost_letters_ = environment_->gate().lost_letters(environment_->process()).load();
  mailbox_ = std::make_unique<Descriptor>(runtime_.executor());
  boost::system::error_code refused;
  mailbox_->assign(fd->get(), refused);
  if (refused) throw boost::system::system_error(refused, "a mailbox");  // and the descriptor is closed
  [[maybe_unused]] const int owned = fd->release();
  wait_for_mail();
  return {};
}

void Listener::wait_for_mail() {
  mailbox_->async_wait(Descriptor::wait_read, [weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->read_mail();
    self->wait_for_mail();
  });
}

void Listener::read_mail() {
  while (const auto letter = read_letter(mailbox_->native_handle())) {
    if (letter->first) environment_->notices().tell(letter->first, letter->second);
  }
  // Read after the last letter: whoever found the mailbox full has counted before.
  const std::uint32_t lost = environment_->gate().lost_letters(environment_->process()).load();
  if (std::exchange(lost_letters_, lost) != lost) environment_->notices().tell_all_to_look();
}

void Listener::watch(const std::set<ProcessKey>& processes, ClaimId claim) {
  behind_[claim] = processes;
  for (const ProcessKey process : processes) watch(process);
}

void Listener::watch(ProcessKey process) {
  if (process == environment_->process() || watched_.contains(process)) return;
  const auto owner = environment_->gate().owner(process);
  Fd fd = owner && owner->pid > 0 ? open_process(owner->pid) : Fd();
  // The lock is looked at again: if it is still held, the descriptor is that process and not one that reuses its pid.
  if (!owner || !environment_->gate().owner(process)) return died(process);
  if (!fd) return;  // an old kernel, or no descriptor left: its lease will tell
  auto descriptor = std::make_unique<Descriptor>(watched(runtime_, std::move(fd)));
  if (!descriptor->is_open()) return;  // its lease will tell
  wait_for_death(process, *descriptor);
  watched_[process] = std::move(descriptor);
}

void Listener::wait_for_death(ProcessKey process, Descriptor& descriptor) {
  descriptor.async_wait(Descriptor::wait_read,
                        [weak = weak_from_this(), process](const boost::system::error_code& error) {
                          const auto self = weak.lock();
                          if (!error && self) self->died(process);
                        });
}

void Listener::died(ProcessKey process) {
  watched_.erase(process);
  base::spawn(runtime_, bury(process));
}

awaitable<void> Listener::bury(ProcessKey process) {
  const auto self = shared_from_this();
  const Environment::Work work = [process](Tables& tables) { tables.bury(process); };
  const Deadline deadline = Deadline::in(runtime_.now(), for_a_burial);
  // Whoever claims next would do it as well, and the lease ends in any case.
  [[maybe_unused]] auto buried = co_await visit(environment_, runtime_, work, deadline);
  // It may have released, and died before it could tell the next one.
  for (auto& [claim, ahead] : std::exchange(behind_, {})) {
    if (ahead.contains(process)) {
      environment_->notices().tell(claim, {.what = Notice::What::look_again});
    } else {
      behind_.emplace(claim, std::move(ahead));
    }
  }
}

void Listener::watch_folder() {
  if (folder_watch_ || std::exchange(will_watch_folder_, true)) return;
  base::spawn(runtime_, watch_folder_soon(weak_from_this(), runtime_));
}

awaitable<void> Listener::watch_folder_soon(std::weak_ptr<Listener> weak, base::Runtime& runtime) {
  base::Wakeup never(runtime);
  [[maybe_unused]] const base::Woke later = co_await never.wait(runtime.now() + before_the_folder_is_watched);
  if (const auto self = weak.lock()) self->watch_folder_now();
}

void Listener::watch_folder_now() {
  will_watch_folder_ = false;
  if (!environment_->gate().try_take_inotify()) return;
  auto descriptor = std::make_unique<Descriptor>(watched(runtime_, file::watch_folder(environment_->folder())));
  if (!descriptor->is_open()) return;  // the next renewal will tell
  folder_watch_ = std::move(descriptor);
  wait_for_folder();
  look_at_folder();  // it may have happened before
}

void Listener::wait_for_folder() {
  folder_watch_->async_wait(Descriptor::wait_read, [weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    read_empty(self->folder_watch_->native_handle());
    self->look_at_folder();
    self->wait_for_folder();
  });
}

void Listener::look_at_folder() {
  if (!environment_->gone(true)) return;
  std::erase_if(when_gone_, [](const auto& call) { return call.expired(); });
  for (const auto& weak : when_gone_) {
    if (const auto call = weak.lock()) (*call)();
  }
}

}  // namespace pawl::store::file
