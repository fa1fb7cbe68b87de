#include "tests/simulation/told_faults.hpp"

#include <chrono>
#include <string_view>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

std::string_view describe(RequestFault::Loss loss) {
  switch (loss) {
    case RequestFault::Loss::none: break;
    case RequestFault::Loss::refuse: return ", refused";
    case RequestFault::Loss::request: return ", lost on its way";
    case RequestFault::Loss::reply: return ", answer lost";
    case RequestFault::Loss::thrown: return ", thrown";
    case RequestFault::Loss::thrown_after: return ", thrown after it was done";
    case RequestFault::Loss::refuse_after: return ", refused after it was done";
  }
  return "";
}

std::string describe(const RequestFault& fault, Duration latency) {
  std::string text(describe(fault.loss));
  const auto add = [&](std::string_view what, Duration delay) {
    if (delay > latency) text += fmt::format(", {} {:.1f} ms", what, static_cast<double>(delay / 1us) / 1000);
  };
  add("there in", fault.request_delay);
  add("back in", fault.reply_delay);
  if (fault.again_after)
    text += fmt::format(", and once more {:.1f} ms later", static_cast<double>(*fault.again_after / 1us) / 1000);
  return text;
}

std::string_view describe(store::Notice::What what) {
  switch (what) {
    case store::Notice::What::look_again: return "look again";
    case store::Notice::What::granted: return "granted";
    case store::Notice::What::contended: return "contended";
    case store::Notice::What::release_requested: return "release requested";
    case store::Notice::What::gone: return "gone";
  }
  return "";
}

}  // namespace

RequestFault ToldFaults::next(Operation operation) {
  const RequestFault fault = faults_->next(operation);
  ++requests_;
  if (!monitor_.tells()) return fault;
  const std::string what = describe(fault, latency_);
  if (!what.empty()) monitor_.note("  {} request {}, {}{}", name_, requests_, to_string(operation), what);
  return fault;
}

NoticeFault ToldFaults::next_notice(const store::Notice& notice) {
  const NoticeFault fault = faults_->next_notice(notice);
  const bool now = fault.what == NoticeFault::What::deliver || fault.what == NoticeFault::What::twice;
  if (now && notice.what == store::Notice::What::contended) monitor_.contended(process_, store_, notice.grant.token);
  if (!monitor_.tells() || fault.what == NoticeFault::What::deliver) return fault;
  const std::string_view what = describe(notice.what);
  if (fault.what == NoticeFault::What::drop) {
    monitor_.note("  {} notice \"{}\" lost on its way", name_, what);
  } else {
    monitor_.note("  {} notice \"{}\" {} {:.1f} ms later", name_, what,
                  fault.what == NoticeFault::What::twice ? "once more" : "comes",
                  static_cast<double>(fault.delay / 1us) / 1000);
  }
  return fault;
}

}  // namespace pawl::test
