// Frames over a non-blocking socket: data that cannot be sent yet are kept, and partial frames are completed
// later.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/ranks/message.h"
#include "runtime/ranks/socket.h"

namespace smelt {

class Connection {
 public:
  /// Frames above `limit` bytes end the connection.
  Connection(Socket socket, size_t limit) : socket_(std::move(socket)), limit_(limit) {}

  int descriptor() const { return socket_.descriptor(); }
  bool is_open() const { return socket_.is_open() && fault_.empty(); }
  /// Returns why the connection is not open.
  const std::string& fault() const { return fault_; }
  void set_limit(size_t limit) { limit_ = limit; }

  void send(FrameKind kind, std::string_view body);
  bool has_unsent() const { return sent_ < out_.size(); }
  /// Sends as much as the socket accepts now.
  void flush();
  /// Reads the available data.
  void receive();
  /// The next whole frame. Frames that came before a connection ended are still given.
  std::optional<Frame> next();
  void close() { socket_.close(); }

 private:
  void end(std::string_view fault);

  Socket socket_;
  size_t limit_;
  std::string in_, out_, fault_;
  size_t sent_ = 0, taken_ = 0;
};

}  // namespace smelt
