#include "store/etcd/grpc.hpp"

#include "base/lock_name.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <unordered_map>
#include <utility>

namespace pawl::store::etcd {

namespace {

// Room for what the server may send before we have read it: a call's messages, and all calls' together.
constexpr std::uint32_t call_window = 1 << 20;
constexpr std::int32_t connection_window = 8 << 20;
constexpr std::size_t prefix_size = 5;  // of a message: one flag, and its length in four bytes
constexpr std::size_t longest_reason = 300;

constexpr std::string_view user_agent = "pawl";

std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT: nghttp2 does not change them
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::uint32_t read_length(std::string_view prefix) {
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < prefix_size; ++i) length = length << 8U | static_cast<std::uint8_t>(prefix[i]);
  return length;
}

}  // namespace

class Grpc::Impl {
 public:
  explicit Impl(Settings chosen);
  ~Impl() { ::nghttp2_session_del(session_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  struct Call {
    std::string out;        // to be sent
    std::size_t taken = 0;  // of it
    bool last = false;      // nothing comes after it
    bool deferred = false;  // nghttp2 waits for resume()
    std::string in;         // not yet a whole message
    std::optional<std::uint64_t> whole_at;
    int http_status = 0;
    bool is_grpc = false;
    bool told = false;  // its status
    Status status;
  };

  Call* find(CallId id) {
    const auto it = calls_.find(id);
    return it == calls_.end() ? nullptr : &it->second;
  }
  void finish(CallId id, Status status);
  void ended(CallId id);
  void take_data(CallId id, Call& call, std::string_view data);
  void take_header(Call& call, std::string_view name, std::string_view value);
  Status status_at_end(Call& call, std::uint32_t error_code);
  void drain();
  void reset(CallId id, std::uint32_t error_code) {
    ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, error_code);
  }

  static ssize_t read_out(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source* source, void* self);
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t flags,
                       void* self);
  static int on_data(nghttp2_session* session, std::uint8_t flags, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* self);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self);
  static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t error_code, void* self);
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* self);
  static int on_broken(nghttp2_session* session, int code, const char* text, std::size_t size, void* self);

  const Settings settings;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<CallId, Call> calls_;
  std::vector<Event> events_;
  std::string out_;
  std::uint64_t written_ = 0;
  CallId ending_ = 0;  // whose last frame is being written
  bool settings_seen_ = false;
  bool leaving_ = false;
  bool broken_ = false;
  std::string why_;
};

Grpc::Impl::Impl(Settings chosen) : settings(std::move(chosen)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (::nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
  ::nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  ::nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  ::nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
  ::nghttp2_session_callbacks_set_error_callback2(callbacks, on_broken);
  nghttp2_option* option = nullptr;
  const bool made = ::nghttp2_option_new(&option) == 0;
  if (made) ::nghttp2_option_set_no_closed_streams(option, 1);  // they serve priorities, which we do not use
  const int failed = made ? ::nghttp2_session_client_new2(&session_, callbacks, this, option) : NGHTTP2_ERR_NOMEM;
  ::nghttp2_option_del(option);
  ::nghttp2_session_callbacks_del(callbacks);
  if (failed != 0) throw std::bad_alloc();
  const std::array entries{nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                           nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, call_window}};
  ::nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  ::nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection_window);
}

void Grpc::Impl::finish(CallId id, Status status) {
  calls_.erase(id);
  events_.push_back({.what = Event::What::finished, .call = id, .status = std::move(status)});
}

// The bytes of a message may come in any number of frames, and a frame may hold several messages.
void Grpc::Impl::take_data(CallId id, Call& call, std::string_view data) {
  call.in.append(data);
  std::size_t begin = 0;
  while (call.in.size() - begin >= prefix_size) {
    const std::string_view rest = std::string_view(call.in).substr(begin);
    const std::size_t length = read_length(rest);
    Status bad;
    if (rest[0] != 0) bad = {StatusCode::internal, "the server sent a compressed message, which it was not offered"};
    if (length > settings.largest_message) bad = {StatusCode::resource_exhausted, "the server's message is too large"};
    if (!bad.message.empty()) {
      reset(id, NGHTTP2_CANCEL);
      return finish(id, std::move(bad));
    }
    if (rest.size() < prefix_size + length) break;
    events_.push_back(
        {.what = Event::What::message, .call = id, .bytes = std::string(rest.substr(prefix_size, length))});
    begin += prefix_size + length;
  }
  call.in.erase(0, begin);
}

void Grpc::Impl::take_header(Call& call, std::string_view name, std::string_view value) {
  if (name == ":status") {
    std::from_chars(value.data(), value.data() + value.size(), call.http_status);
  } else if (name == "content-type") {
    call.is_grpc = value.starts_with("application/grpc");
  } else if (name == "grpc-status") {
    call.status.code = read_status_code(value);
    call.told = true;
  } else if (name == "grpc-message") {
    call.status.message = read_status_message(value);
  }
}

Status Grpc::Impl::status_at_end(Call& call, std::uint32_t error_code) {
  if (call.told) return std::move(call.status);
  if (error_code != NGHTTP2_NO_ERROR) {
    Status status = status_of_reset(error_code);
    if (call.http_status != 0) status.unprocessed = false;  // the server has answered already, whatever it says now
    return status;
  }
  if (call.http_status != 0 && (call.http_status != 200 || !call.is_grpc)) {
    return {code_of_http(call.http_status), "not an answer of gRPC: HTTP " + std::to_string(call.http_status)};
  }
  return {StatusCode::unknown, "the stream ended without a status"};
}

// The server says no more, and wants to hear no more either.
void Grpc::Impl::ended(CallId id) {
  Call* const call = find(id);
  if (call == nullptr) return;
  if (!call->whole_at) reset(id, NGHTTP2_CANCEL);
  Status status = status_at_end(*call, NGHTTP2_NO_ERROR);
  finish(id, std::move(status));
}

ssize_t Grpc::Impl::read_out(nghttp2_session* /*session*/, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                             std::uint32_t* flags, nghttp2_data_source* /*source*/, void* self) {
  Call* const call = static_cast<Impl*>(self)->find(id);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t part = std::min(size, call->out.size() - call->taken);
  std::copy_n(call->out.data() + call->taken, part, reinterpret_cast<char*>(buffer));
  call->taken += part;
  if (call->taken == call->out.size()) {
    call->out.clear();
    call->taken = 0;
    if (call->last) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (part == 0) {
      call->deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
  }
  return static_cast<ssize_t>(part);
}

int Grpc::Impl::on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame, const std::uint8_t* name,
                          std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                          std::uint8_t /*flags*/, void* self) {
  Call* const call = static_cast<Impl*>(self)->find(frame->hd.stream_id);
  if (call != nullptr)
    static_cast<Impl*>(self)->take_header(*call, text_of(name, name_size), text_of(value, value_size));
  return 0;
}

int Grpc::Impl::on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* data,
                        std::size_t size, void* self) {
  Call* const call = static_cast<Impl*>(self)->find(id);
  // What is no gRPC is a page for people, and the status says enough.
  if (call != nullptr && call->is_grpc) static_cast<Impl*>(self)->take_data(id, *call, text_of(data, size));
  return 0;
}

int Grpc::Impl::on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  const bool of_call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (of_call && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) impl.ended(frame->hd.stream_id);
  const bool answer = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
  if (frame->hd.type == NGHTTP2_SETTINGS && !answer && !std::exchange(impl.settings_seen_, true)) {
    impl.events_.push_back({.what = Event::What::settings});
  } else if (frame->hd.type == NGHTTP2_PING && answer) {
    impl.events_.push_back({.what = Event::What::pong});
  } else if (frame->hd.type == NGHTTP2_GOAWAY) {
    impl.leaving_ = true;
    const auto& goaway = frame->goaway;
    std::string why = std::string("the server ends the connection: ") + ::nghttp2_http2_strerror(goaway.error_code);
    if (goaway.opaque_data_len > 0) {
      why += " (" + base::printable(text_of(goaway.opaque_data, goaway.opaque_data_len), longest_reason) + ")";
    }
    impl.events_.push_back({.what = Event::What::going_away, .status = {StatusCode::unavailable, std::move(why)}});
  }
  return 0;
}

int Grpc::Impl::on_close(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t error_code, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  if (Call* const call = impl.find(id)) {
    Status status = impl.status_at_end(*call, error_code);
    impl.finish(id, std::move(status));
  }
  return 0;
}

// Is called just before drain() gets the last bytes of the frame.
int Grpc::Impl::on_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  // We send none ourselves: nghttp2 does, when the server breaks the rules.
  if (frame->hd.type == NGHTTP2_GOAWAY) impl.broken_ = true;
  if (frame->hd.type != NGHTTP2_DATA || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  impl.ending_ = frame->hd.stream_id;
  return 0;
}

void Grpc::Impl::drain() {
  const std::uint8_t* data = nullptr;
  while (true) {
    const ssize_t size = ::nghttp2_session_mem_send(session_, &data);
    if (size == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
    if (size < 0) broken_ = true;
    if (size <= 0) return;
    out_.append(text_of(data, static_cast<std::size_t>(size)));
    written_ += static_cast<std::uint64_t>(size);
    Call* const call = find(std::exchange(ending_, 0));
    if (call != nullptr) call->whole_at = written_;
  }
}

int Grpc::Impl::on_broken(nghttp2_session* /*session*/, int /*code*/, const char* text, std::size_t size, void* self) {
  static_cast<Impl*>(self)->why_ = base::printable(std::string_view(text, size), longest_reason);
  return 0;
}

Grpc::Grpc(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Grpc::~Grpc() = default;

bool Grpc::ready() const {
  return !impl_->broken_ && !impl_->leaving_ && ::nghttp2_session_check_request_allowed(impl_->session_) != 0;
}

std::optional<Grpc::CallId> Grpc::open(std::string_view path, const Metadata& metadata) {
  if (!ready()) return std::nullopt;
  std::array<nghttp2_nv, 9> headers{header(":method", "POST"),
                                    header(":scheme", impl_->settings.tls ? "https" : "http"),
                                    header(":path", path),
                                    header(":authority", impl_->settings.authority),
                                    header("content-type", "application/grpc"),
                                    header("te", "trailers"),
                                    header("user-agent", user_agent)};
  std::size_t count = 7;
  if (!metadata.token.empty()) headers[count++] = header("token", metadata.token);
  if (metadata.has_leader) headers[count++] = header("hasleader", "true");
  const nghttp2_data_provider provider{.source = {}, .read_callback = Impl::read_out};
  const std::int32_t id = ::nghttp2_submit_request(impl_->session_, nullptr, headers.data(), count, &provider, nullptr);
  if (id == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
  if (id <= 0) {
    impl_->leaving_ = true;  // all numbers of streams are used up
    return std::nullopt;
  }
  impl_->calls_.try_emplace(id);
  return id;
}

void Grpc::send(CallId id, std::string_view message, Last last) {
  Impl::Call* const call = impl_->find(id);
  if (call == nullptr || call->last) return;
  const auto length = static_cast<std::uint32_t>(message.size());
  const std::array<char, prefix_size> prefix{0, static_cast<char>(length >> 24U), static_cast<char>(length >> 16U),
                                             static_cast<char>(length >> 8U), static_cast<char>(length)};
  call->out.reserve(call->out.size() + prefix.size() + message.size());
  call->out.append(prefix.data(), prefix.size()).append(message);
  call->last = last == Last::yes;
  if (std::exchange(call->deferred, false)) ::nghttp2_session_resume_data(impl_->session_, id);
}

void Grpc::cancel(CallId id) {
  if (impl_->calls_.erase(id) > 0) impl_->reset(id, NGHTTP2_CANCEL);
}

void Grpc::ping() { ::nghttp2_submit_ping(impl_->session_, NGHTTP2_FLAG_NONE, nullptr); }

bool Grpc::feed(std::string_view bytes) {
  if (impl_->broken_) return false;
  const ssize_t taken = ::nghttp2_session_mem_recv(impl_->session_, bytes_of(bytes), bytes.size());
  if (taken == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
  if (taken < 0) impl_->broken_ = true;
  impl_->drain();
  if (!impl_->broken_) return true;
  if (impl_->why_.empty()) {
    impl_->why_ = taken < 0 ? ::nghttp2_strerror(static_cast<int>(taken)) : "the server breaks the rules of HTTP/2";
  }
  return false;
}

void Grpc::write_to(std::string& out) {
  impl_->drain();
  if (out.empty()) {
    out.swap(impl_->out_);
  } else {
    out += impl_->out_;
    impl_->out_.clear();
  }
}

bool Grpc::wants_to_write() const { return !impl_->out_.empty() || ::nghttp2_session_want_write(impl_->session_) != 0; }
std::vector<Grpc::Event> Grpc::take_events() { return std::exchange(impl_->events_, {}); }
const std::string& Grpc::why() const { return impl_->why_; }
std::size_t Grpc::open_calls() const { return impl_->calls_.size(); }
std::uint64_t Grpc::written() const { return impl_->written_; }

std::optional<std::uint64_t> Grpc::whole_at(CallId id) const {
  const Impl::Call* const call = impl_->find(id);
  return call == nullptr ? std::nullopt : call->whole_at;
}

}  // namespace pawl::store::etcd
