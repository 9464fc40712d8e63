// Messages between the hub and the ranks: frames of a length, a kind and fields, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/hmac.h"

namespace smelt {

enum class FrameKind : uint8_t {
  challenge,  // hub: version, random bytes
  hello,      // rank: version, rank, size, process, host, random bytes, proof
  welcome,    // hub: proof
  refused,    // hub: why
  start,      // hub: every rank's host
  heartbeat,  // rank: progress and calls so far, what it last reported, the call it is in; hub: rank 0's
              // report
  call,       // rank: kind of round, name, bytes
  result,     // hub: whether good, bytes or what went wrong
  failed,     // both: why the run cannot go on
  leave,      // rank: it has done all its work
  farewell    // hub: all have
};
constexpr uint8_t kLastFrameKind = static_cast<uint8_t>(FrameKind::farewell);

struct Frame {
  FrameKind kind = FrameKind::heartbeat;
  std::string body;
};

/// Greatest length of frames on connections that have not proved the secret yet.
constexpr size_t kStrangersFrame = 1024;
constexpr size_t kLargestFrame = size_t{256} << 20;
constexpr size_t kFrameHeader = 5;

std::string encode(FrameKind kind, std::string_view body);

class BodyWriter {
 public:
  BodyWriter& number(uint64_t value);
  BodyWriter& text(std::string_view value);
  BodyWriter& digest(const Digest& value);
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

/// Every read throws Error if the body ends before it.
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

std::string encode_texts(const std::vector<std::string>& texts);
std::vector<std::string> decode_texts(std::string_view body);

}  // namespace smelt
