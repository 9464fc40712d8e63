// Messages between the hub (hub.h) and the ranks. A frame consists of the length of its body (4 bytes), its
// kind (1 byte) and its body. Numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/hmac.h"

namespace smelt {

/// Kind of a frame, with its sender and the contents of its body.
enum class FrameKind : uint8_t {
  challenge,  // hub: version of the protocol, random bytes
  hello,      // rank: random bytes, identity (rank, size, process, host), proof
  welcome,    // hub: proof
  refused,    // hub: the reason for refusing the rank
  start,      // hub: host of every rank
  /// Rank: progress counter, number of calls, newest report (RankLink::progress), current call. Hub: newest
  /// report of rank 0.
  heartbeat,
  call,     // rank: kind and name of a round (rounds.h), and the rank's body for it
  result,   // hub: 1 and the result of a round, or 0 and an error text
  failed,   // rank or hub: the reason why the run cannot continue
  leave,    // rank: nothing; the rank has done all its work
  farewell  // hub: nothing; all ranks have sent `leave`
};
constexpr uint8_t kLastFrameKind = static_cast<uint8_t>(FrameKind::farewell);

struct Frame {
  FrameKind kind = FrameKind::heartbeat;
  std::string body;
};

/// Largest body of a frame, in bytes: kStrangersFrame until the sender has proved that it has the run's
/// secret, kLargestFrame afterwards.
constexpr size_t kStrangersFrame = 1024;
constexpr size_t kLargestFrame = size_t{256} << 20;
constexpr size_t kFrameHeader = 5;  // bytes: length and kind

/// Returns the bytes of a frame.
std::string encode(FrameKind kind, std::string_view body);

/// Writer of a body: each function appends a value.
class BodyWriter {
 public:
  BodyWriter& number(uint64_t value);
  BodyWriter& text(std::string_view value);
  BodyWriter& digest(const Digest& value);
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

/// Reader of a body: each function returns the next value, and throws Error if the body ends before the end
/// of the value.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}
  uint64_t number();
  std::string text();
  Digest digest();
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view take(size_t size);
  std::string_view rest_;
};

/// Convert a list of texts to a body, and a body to a list of texts.
std::string encode_texts(const std::vector<std::string>& texts);
std::vector<std::string> decode_texts(std::string_view body);

}  // namespace smelt
