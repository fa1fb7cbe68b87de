#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::test {

/// The server's side of gRPC on one HTTP/2 connection, without I/O: the test decides what it answers.
class GrpcPeer {
 public:
  struct Call {
    std::map<std::string, std::string> headers = {};
    std::string bytes = {};  ///< the frames of its messages
    bool ended = false;      ///< the client says no more
    bool reset = false;      ///< by the client
    std::uint32_t reset_code = 0;
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;

  struct Settings {
    std::uint32_t most_calls = 100;
    std::uint32_t window = 65535;  ///< for a call's bytes
  };
  GrpcPeer() : GrpcPeer(Settings()) {}
  explicit GrpcPeer(Settings settings);
  ~GrpcPeer();
  GrpcPeer(const GrpcPeer&) = delete;
  GrpcPeer& operator=(const GrpcPeer&) = delete;

  void feed(std::string_view bytes);
  /// What it has to say.
  std::string take();

  const std::map<std::int32_t, Call>& calls() const;
  std::size_t pings() const;
  /// The client has broken off with GOAWAY.
  bool left() const;

  /// Headers, the frame of a message, and a status; what is empty is left out.
  void answer(std::int32_t call, std::string_view message, int status = 0, const std::string& text = {});
  void headers(std::int32_t call, const Headers& headers, bool last = false);
  void data(std::int32_t call, std::string_view bytes);
  void trailers(std::int32_t call, const Headers& trailers);
  void reset(std::int32_t call, std::uint32_t code);
  /// No calls behind that one have been begun.
  void go_away(std::int32_t last, std::uint32_t code, const std::string& why);
  /// The client's bytes are not taken any more: no window is opened again.
  void take_no_more();

  static std::string framed(std::string_view message, char compressed = 0);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::test
