// Exchange of frames (message.h) over a non-blocking socket. Data that cannot be sent yet are stored and sent
// later. The received part of an incomplete frame is stored until the rest arrives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/ranks/message.h"
#include "runtime/ranks/socket.h"

namespace smelt {

/// One end of a connection between a rank and the hub, the process that coordinates the ranks (hub.h).
class Connection {
 public:
  /// The connection ends if a frame with a body of more than `limit` bytes arrives.
  Connection(Socket socket, size_t limit) : socket_(std::move(socket)), limit_(limit) {}

  int descriptor() const { return socket_.descriptor(); }
  bool is_open() const { return socket_.is_open() && fault_.empty(); }
  /// Returns why the connection has ended; empty if it has not, or if it was closed at this end.
  const std::string& fault() const { return fault_; }
  void set_limit(size_t limit) { limit_ = limit; }

  /// Stores a frame and calls flush(). Has no effect if the connection is not open.
  void send(FrameKind kind, std::string_view body);
  bool has_unsent() const { return sent_ < out_.size(); }
  /// Sends as much of the stored data as the socket accepts now.
  void flush();
  /// Reads and stores data that have arrived.
  void receive();
  /// Returns the next complete frame from the stored data; nothing if there is none. Frames that arrived
  /// before the connection ended are still returned.
  std::optional<Frame> next();
  void close() { socket_.close(); }

 private:
  void end(std::string_view fault);

  Socket socket_;
  size_t limit_;
  std::string in_, out_, fault_;
  size_t sent_ = 0, taken_ = 0;  // bytes of out_ that were sent, and of in_ that next() has returned
};

}  // namespace smelt
