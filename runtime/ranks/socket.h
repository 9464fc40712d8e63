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

/// A descriptor that is closed with its owner, and in programs that this process starts.
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

/// `address` is a name or an address of this host; port 0 takes any free one. Throws Error (io) naming both.
Socket listen_at(const std::string& address, int port);
int port_of(const Socket& listener);
/// Accepts the next waiting connection; returns nothing if none waits.
std::optional<Socket> accept_from(const Socket& listener);

/// A connection made before `deadline`, or why there is none.
struct ConnectResult {
  Socket socket;
  std::string fault;
};
ConnectResult connect_to(const std::string& address, int port, Clock::time_point deadline);

/// Wakes a thread that polls.
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

std::string host_name();

}  // namespace smelt
