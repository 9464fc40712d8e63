// Non-blocking TCP sockets for the hub and the ranks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace smelt {

using Clock = std::chrono::steady_clock;
inline Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// Owner of a file descriptor, which the destructor closes. The functions below open descriptors with
/// close-on-exec, so that programs which this process starts do not inherit them.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void close();

 private:
  int descriptor_ = -1;
};

/// Returns a socket that listens at a name or address of this host. With port 0, the system selects a free
/// port. Throws Error (io) that names the address.
Socket listen_at(const std::string& address, int port);
/// Returns the port at which a socket listens.
int port_of(const Socket& listener);
/// Accepts the next waiting connection. Returns nothing if no connection waits.
std::optional<Socket> accept_from(const Socket& listener);

/// A connection, or, if the socket is not open, the reason why there is none.
struct ConnectResult {
  Socket socket;
  std::string fault;
};
/// Connects to a name or address, and gives up at `deadline`.
ConnectResult connect_to(const std::string& address, int port, Clock::time_point deadline);

/// A descriptor by which other threads wake a thread that polls it. `wake` makes it readable until `reset`.
class Waker {
 public:
  Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  int descriptor() const { return event_.descriptor(); }
  void wake() const;
  void reset() const;

 private:
  Socket event_;
};

/// Returns the name of this host; "unknown host" if the system does not report it.
std::string host_name();

}  // namespace smelt
