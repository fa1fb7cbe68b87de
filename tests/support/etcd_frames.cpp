#include "tests/support/etcd_frames.hpp"

#include "etcd.pb.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace pawl::test {

namespace {

namespace pb = store::etcd::pb;

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t frame_header = 9;
constexpr std::size_t message_header = 5;  // is it compressed, and its length

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, size)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

struct Frame {
  std::uint8_t type;
  std::uint8_t flags;
  std::int64_t stream;
  std::string_view payload;
};

Frame frame_of(std::string_view bytes) {
  return {static_cast<std::uint8_t>(bytes[3]), static_cast<std::uint8_t>(bytes[4]),
          number_at(bytes, 5, 4) & 0x7fffffffU, bytes.substr(frame_header)};
}

/// What is left without padding and priority.
std::string_view content_of(const Frame& frame) {
  std::string_view content = frame.payload;
  if (frame.type == NGHTTP2_CONTINUATION) return content;
  if ((frame.flags & NGHTTP2_FLAG_PADDED) != 0 && !content.empty()) {
    const auto padding = static_cast<unsigned char>(content.front());
    content = content.substr(1, content.size() - 1 - std::min<std::size_t>(padding, content.size() - 1));
  }
  if (frame.type == NGHTTP2_HEADERS && (frame.flags & NGHTTP2_FLAG_PRIORITY) != 0) content.remove_prefix(5);
  return content;
}

std::size_t whole_frame(std::string_view bytes) {
  if (bytes.size() < frame_header) return 0;
  const std::size_t size = frame_header + number_at(bytes, 0, 3);
  return bytes.size() < size ? 0 : size;
}

/// The next whole message, taken off the front.
bool take_message(std::string& bytes, std::string& message) {
  if (bytes.size() < message_header) return false;
  const std::size_t size = number_at(bytes, 1, 4);
  if (bytes.size() < message_header + size) return false;
  message = bytes.substr(message_header, size);
  bytes.erase(0, message_header + size);
  return true;
}

using Listener = std::function<void(const EtcdMessage&)>;

/// The headers of one direction: each block depends on those before.
class Headers {
 public:
  Headers() {
    if (nghttp2_hd_inflate_new(&inflater_) != 0) throw std::bad_alloc();
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  ~Headers() { nghttp2_hd_inflate_del(inflater_); }

  template <class Keep>
  void read(const Frame& frame, const Keep& keep) {
    const std::string_view block = content_of(frame);
    const auto* next = reinterpret_cast<const std::uint8_t*>(block.data());
    std::size_t left = block.size();
    const int last = (frame.flags & NGHTTP2_FLAG_END_HEADERS) != 0 ? 1 : 0;
    for (;;) {
      nghttp2_nv header;
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &header, &flags, next, left, last);
      if (used < 0) throw std::runtime_error("headers that cannot be read");
      next += used;
      left -= static_cast<std::size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        keep(std::string_view(reinterpret_cast<const char*>(header.name), header.namelen),
             std::string_view(reinterpret_cast<const char*>(header.value), header.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        return;
      }
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) return;
    }
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

/// The calls of one connection.
class Calls {
 public:
  Calls(Listener asked, Listener answered) : asked_(std::move(asked)), answered_(std::move(answered)) {}

  std::size_t whole(std::string_view bytes) const {
    if (greeted_) return whole_frame(bytes);
    return bytes.size() < preface.size() ? 0 : preface.size();
  }

  std::string name(std::string_view bytes) {
    if (!greeted_) {
      greeted_ = true;
      return {};
    }
    const Frame frame = frame_of(bytes);
    if (has_headers(frame)) {
      requests_.read(frame, [&](std::string_view name, std::string_view value) {
        if (name == ":path") streams_[frame.stream].method = value.substr(value.rfind('/') + 1);
      });
    }
    if (frame.type == NGHTTP2_PING && (frame.flags & NGHTTP2_FLAG_ACK) == 0 && asked_) asked_({.method = "PING"});
    if (frame.type == NGHTTP2_RST_STREAM) streams_.erase(frame.stream);
    return frame.type == NGHTTP2_DATA ? name_of_data(frame) : "";
  }

  void hear_reply(std::string_view bytes) {
    const Frame frame = frame_of(bytes);
    std::string code, why;
    if (has_headers(frame)) {
      replies_.read(frame, [&](std::string_view name, std::string_view value) {
        if (name == "grpc-status") code = value;
        if (name == "grpc-message") why = value;
      });
    }
    const auto found = streams_.find(frame.stream);
    if (found == streams_.end()) return;
    EtcdMessage message{.method = found->second.method, .stream = frame.stream};
    if (!code.empty() && code != "0" && answered_) {
      message.failure = why;
      answered_(message);
    }
    if (frame.type == NGHTTP2_DATA) {
      found->second.replied += content_of(frame);
      while (take_message(found->second.replied, message.message)) {
        if (answered_) answered_(message);
      }
    }
    const bool ends = frame.type == NGHTTP2_DATA || frame.type == NGHTTP2_HEADERS;
    if (frame.type == NGHTTP2_RST_STREAM || (ends && (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0))
      streams_.erase(found);
  }

 private:
  struct Stream {
    std::string method = {};
    std::string bytes = {};
    std::string replied = {};
  };

  static bool has_headers(const Frame& frame) {
    return frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_CONTINUATION;
  }

  std::string name_of_data(const Frame& frame) {
    const auto found = streams_.find(frame.stream);
    if (found == streams_.end()) return {};
    Stream& stream = found->second;
    stream.bytes += content_of(frame);
    std::string name;
    EtcdMessage request{.method = stream.method, .stream = frame.stream};
    while (take_message(stream.bytes, request.message)) {
      name = request.method;
      if (asked_) asked_(request);
    }
    return name;
  }

  const Listener asked_;
  const Listener answered_;
  Headers requests_;
  Headers replies_;
  bool greeted_ = false;
  std::map<std::int64_t, Stream> streams_;
};

/// The headers before an answer say nothing yet; those after it are its end, or all that comes of a call that fails.
bool is_no_answer(std::string_view reply) {
  const Frame frame = frame_of(reply);
  if (frame.type == NGHTTP2_HEADERS) return (frame.flags & NGHTTP2_FLAG_END_STREAM) == 0;
  return frame.type != NGHTTP2_DATA;
}

/// Calls `visit` with the key and the end of each range that a transaction names.
template <class Visit>
void visit_keys(const pb::TxnRequest& txn, const Visit& visit) {
  for (const pb::Compare& compare : txn.compare()) visit(compare.key(), compare.range_end());
  for (const auto* ops : {&txn.success(), &txn.failure()}) {
    for (const pb::RequestOp& op : *ops) {
      if (op.has_request_range()) visit(op.request_range().key(), op.request_range().range_end());
      if (op.has_request_put()) visit(op.request_put().key(), "");
      if (op.has_request_delete_range()) visit(op.request_delete_range().key(), op.request_delete_range().range_end());
      if (op.has_request_txn()) visit_keys(op.request_txn(), visit);
    }
  }
}

template <class Visit>
void visit_keys(const EtcdMessage& request, const Visit& visit) {
  pb::TxnRequest txn;
  pb::RangeRequest range;
  pb::WatchRequest watch;
  if (request.method == "Txn" && txn.ParseFromString(request.message)) visit_keys(txn, visit);
  if (request.method == "Range" && range.ParseFromString(request.message)) visit(range.key(), range.range_end());
  if (request.method == "Watch" && watch.ParseFromString(request.message) && watch.has_create_request()) {
    visit(watch.create_request().key(), watch.create_request().range_end());
  }
}

}  // namespace

bool EtcdMessage::has_a_range() const {
  bool found = false;
  visit_keys(*this, [&](const std::string&, const std::string& end) { found = found || !end.empty(); });
  return found;
}

bool EtcdMessage::names(const std::string& part) const {
  bool found = false;
  visit_keys(*this,
             [&](const std::string& key, const std::string&) { found = found || key.find(part) != std::string::npos; });
  return found;
}

std::function<Framing()> etcd_framing(Listener asked, Listener answered) {
  return [asked = std::move(asked), answered = std::move(answered)] {
    const auto calls = std::make_shared<Calls>(asked, answered);
    return Framing{.request = [calls](std::string_view bytes) { return calls->whole(bytes); },
                   .reply = whole_frame,
                   .name = [calls](std::string_view request) { return calls->name(request); },
                   .pushed =
                       [calls](std::string_view reply) {
                         calls->hear_reply(reply);
                         return is_no_answer(reply);
                       },
                   .number = [](std::string_view frame) { return frame_of(frame).stream; }};
  };
}

std::string etcd_message(std::string_view frame) {
  if (frame.size() < frame_header) return {};
  std::string bytes(content_of(frame_of(frame)));
  std::string message;
  return take_message(bytes, message) ? message : "";
}

}  // namespace pawl::test
