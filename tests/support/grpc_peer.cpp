#include "tests/support/grpc_peer.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace pawl::test {

namespace {

std::vector<nghttp2_nv> pointed_at(const GrpcPeer::Headers& headers) {
  std::vector<nghttp2_nv> all;
  for (const auto& [name, value] : headers) {
    all.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                   reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                   NGHTTP2_NV_FLAG_NONE});
  }
  return all;
}

}  // namespace

class GrpcPeer::Impl {
 public:
  struct Out {
    std::string bytes = {};
    Headers trailers = {};
    bool begun = false;
    bool deferred = false;
  };

  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Call> calls = {};
  std::map<std::int32_t, Out> out = {};
  std::size_t pings = 0;
  bool left = false;
  bool takes = true;

  static Impl& of(void* self) { return *static_cast<Impl*>(self); }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/,
                       void* self) {
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    of(self).calls[frame->hd.stream_id].headers[key] = std::string(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int on_data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* self) {
    of(self).calls[id].bytes.append(reinterpret_cast<const char*>(data), size);
    if (of(self).takes) ::nghttp2_session_consume(session, id, size);
    return 0;
  }
  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) && ends) {
      of(self).calls[frame->hd.stream_id].ended = true;
    }
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) ++of(self).pings;
    if (frame->hd.type == NGHTTP2_GOAWAY) of(self).left = true;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      of(self).calls[frame->hd.stream_id].reset = true;
      of(self).calls[frame->hd.stream_id].reset_code = frame->rst_stream.error_code;
    }
    return 0;
  }
  static ssize_t read_out(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source* /*source*/, void* self) {
    Out& out = of(self).out[id];
    const std::size_t part = std::min(size, out.bytes.size());
    std::copy_n(out.bytes.data(), part, reinterpret_cast<char*>(buffer));
    out.bytes.erase(0, part);
    if (!out.bytes.empty()) return static_cast<ssize_t>(part);
    if (!out.trailers.empty()) {
      const std::vector<nghttp2_nv> trailers = pointed_at(out.trailers);
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      ::nghttp2_submit_trailer(session, id, trailers.data(), trailers.size());
    } else if (part == 0) {
      out.deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(part);
  }
  void go_on(std::int32_t id) {
    Out& stream = out[id];
    const nghttp2_data_provider provider{.source = {}, .read_callback = read_out};
    if (!std::exchange(stream.begun, true)) ::nghttp2_submit_data(session, NGHTTP2_FLAG_NONE, id, &provider);
    if (std::exchange(stream.deferred, false)) ::nghttp2_session_resume_data(session, id);
  }
};

GrpcPeer::GrpcPeer(Settings settings) : impl_(std::make_unique<Impl>()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  ::nghttp2_session_callbacks_new(&callbacks);
  ::nghttp2_session_callbacks_set_on_header_callback(callbacks, Impl::on_header);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Impl::on_data);
  ::nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Impl::on_frame);
  nghttp2_option* option = nullptr;
  ::nghttp2_option_new(&option);
  ::nghttp2_option_set_no_auto_window_update(option, 1);
  ::nghttp2_session_server_new2(&impl_->session, callbacks, impl_.get(), option);
  ::nghttp2_option_del(option);
  ::nghttp2_session_callbacks_del(callbacks);
  const std::array entries{nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.most_calls},
                           nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.window}};
  ::nghttp2_submit_settings(impl_->session, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
}

GrpcPeer::~GrpcPeer() { ::nghttp2_session_del(impl_->session); }

void GrpcPeer::feed(std::string_view bytes) {
  ::nghttp2_session_mem_recv(impl_->session, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string GrpcPeer::take() {
  std::string all;
  const std::uint8_t* data = nullptr;
  for (ssize_t size = 0; (size = ::nghttp2_session_mem_send(impl_->session, &data)) > 0;) {
    all.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  return all;
}

const std::map<std::int32_t, GrpcPeer::Call>& GrpcPeer::calls() const { return impl_->calls; }
std::size_t GrpcPeer::pings() const { return impl_->pings; }
bool GrpcPeer::left() const { return impl_->left; }

void GrpcPeer::answer(std::int32_t call, std::string_view message, int status, const std::string& text) {
  Headers end{{"grpc-status", std::to_string(status)}};
  if (!text.empty()) end.emplace_back("grpc-message", text);
  Headers begin{{":status", "200"}, {"content-type", "application/grpc"}};
  if (message.empty() && status != 0) {
    begin.insert(begin.end(), end.begin(), end.end());
    return headers(call, begin, true);
  }
  headers(call, begin);
  data(call, framed(message));
  trailers(call, end);
}

void GrpcPeer::headers(std::int32_t call, const Headers& headers, bool last) {
  const std::vector<nghttp2_nv> all = pointed_at(headers);
  ::nghttp2_submit_headers(impl_->session, last ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE, call, nullptr,
                           all.data(), all.size(), nullptr);
}

void GrpcPeer::data(std::int32_t call, std::string_view bytes) {
  impl_->out[call].bytes += bytes;
  impl_->go_on(call);
}

void GrpcPeer::trailers(std::int32_t call, const Headers& trailers) {
  impl_->out[call].trailers = trailers;
  impl_->go_on(call);
}

void GrpcPeer::reset(std::int32_t call, std::uint32_t code) {
  ::nghttp2_submit_rst_stream(impl_->session, NGHTTP2_FLAG_NONE, call, code);
}

void GrpcPeer::go_away(std::int32_t last, std::uint32_t code, const std::string& why) {
  ::nghttp2_submit_goaway(impl_->session, NGHTTP2_FLAG_NONE, last, code,
                          reinterpret_cast<const std::uint8_t*>(why.data()), why.size());
}

void GrpcPeer::take_no_more() { impl_->takes = false; }

std::string GrpcPeer::framed(std::string_view message, char compressed) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string bytes(1, compressed);
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(size >> shift);
  return bytes.append(message);
}

}  // namespace pawl::test
