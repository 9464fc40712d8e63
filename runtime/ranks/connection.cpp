#include "runtime/ranks/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace smelt {
namespace {

constexpr size_t kPiece = size_t{64} << 10;
constexpr int kPiecesAtOnce = 64;  // others are served between them

bool is_to_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

uint32_t length_of(const char* header) {
  uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(header[i]);
  return length;
}

}  // namespace

void Connection::end(std::string_view fault) {
  if (fault_.empty()) fault_ = fault;
}

void Connection::send(FrameKind kind, std::string_view body) {
  if (!is_open()) return;
  out_ += encode(kind, body);
  flush();
}

void Connection::flush() {
  while (is_open() && has_unsent()) {
    const ssize_t n =
        ::send(descriptor(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && is_to_wait(errno)) return;
    if (n < 0) return end(std::strerror(errno));
    sent_ += static_cast<size_t>(n);
  }
  out_.clear(), sent_ = 0;
}

void Connection::receive() {
  std::array<char, kPiece> piece;
  for (int i = 0; i < kPiecesAtOnce && is_open(); ++i) {
    const ssize_t n = ::recv(descriptor(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n < 0 && is_to_wait(errno)) return;
    if (n < 0) return end(std::strerror(errno));
    if (n == 0) return end("the other end closed it");
    in_.append(piece.data(), static_cast<size_t>(n));
    if (in_.size() - taken_ >= limit_ + kFrameHeader) return;
  }
}

std::optional<Frame> Connection::next() {
  if (in_.size() - taken_ < kFrameHeader) return std::nullopt;
  const char* header = in_.data() + taken_;
  const size_t length = length_of(header);
  const auto kind = static_cast<uint8_t>(header[4]);
  if (length > limit_ || kind > kLastFrameKind) {
    end(fmt::format("what came is no message (kind {}, {} bytes)", kind, length));
    return std::nullopt;
  }
  if (in_.size() - taken_ < kFrameHeader + length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(kind), in_.substr(taken_ + kFrameHeader, length)};
  taken_ += kFrameHeader + length;
  if (taken_ == in_.size() || taken_ > kPiece) in_.erase(0, std::exchange(taken_, 0));
  return frame;
}

}  // namespace smelt
