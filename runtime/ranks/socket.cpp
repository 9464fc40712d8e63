#include "runtime/ranks/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kBacklog = 1024;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Empty with `fault` set where the name is unknown.
Addresses resolve(const std::string& address, int port, int flags, std::string& fault) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) fault = fmt::format("the name is not known ({})", ::gai_strerror(error));
  return Addresses(list);
}

Socket open_socket(const addrinfo& address) {
  return Socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

void set_option(const Socket& socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket.descriptor(), level, option, &on, sizeof on);
}

[[noreturn]] void fail_listen(const std::string& address, int port, int error) {
  const char* advice =
      error == EADDRINUSE
          ? "something else listens there, maybe another run: set MASTER_PORT to another number at all ranks"
      : error == EADDRNOTAVAIL
          ? "that is no address of this host: set MASTER_ADDR at all ranks to where rank 0 is, or "
            "SMELT_BIND_ADDRESS at rank 0 to the address to listen at"
          : "set MASTER_ADDR and MASTER_PORT at all ranks to an address of rank 0's host and a free port";
  fail_with(Status::io, "rank 0 cannot listen at {}:{} ({}): {}", address, port, std::strerror(error),
            advice);
}

/// Waits for a connection in progress; returns 0 when it is established, else the error.
int wait_connected(const Socket& socket, Clock::time_point deadline) {
  pollfd wait = {socket.descriptor(), POLLOUT, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return ETIMEDOUT;
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return errno;
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Socket::~Socket() { close(); }

void Socket::close() {
  if (is_open()) ::close(std::exchange(descriptor_, -1));
}

Socket listen_at(const std::string& address, int port) {
  std::string fault;
  const Addresses addresses = resolve(address, port, AI_PASSIVE, fault);
  if (!addresses)
    fail_with(Status::io,
              "rank 0 cannot listen at '{}': {}; set MASTER_ADDR to a name or address of its host", address,
              fault);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Socket socket = open_socket(*a);
    if (socket.is_open()) set_option(socket, SOL_SOCKET, SO_REUSEADDR);
    if (socket.is_open() && ::bind(socket.descriptor(), a->ai_addr, a->ai_addrlen) == 0 &&
        ::listen(socket.descriptor(), kBacklog) == 0)
      return socket;
    error = errno;
  }
  fail_listen(address, port, error);
}

int port_of(const Socket& listener) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  ::getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), &length);
  const in_port_t port = address.ss_family == AF_INET6
                             ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

std::optional<Socket> accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.is_open()) return std::nullopt;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

ConnectResult connect_to(const std::string& address, int port, Clock::time_point deadline) {
  ConnectResult result;
  const Addresses addresses = resolve(address, port, 0, result.fault);
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Socket socket = open_socket(*a);
    int error = socket.is_open() ? 0 : errno;
    if (error == 0 && ::connect(socket.descriptor(), a->ai_addr, a->ai_addrlen) != 0)
      error = errno == EINPROGRESS ? wait_connected(socket, deadline) : errno;
    if (error == 0) {
      set_option(socket, IPPROTO_TCP, TCP_NODELAY);
      return {std::move(socket), ""};
    }
    result.fault = std::strerror(error);
  }
  return result;
}

Waker::Waker() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.is_open()) fail_with(Status::io, "no event descriptor: {}", std::strerror(errno));
}

void Waker::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(descriptor(), &one, sizeof one);
}

void Waker::reset() const {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(descriptor(), &count, sizeof count);
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

}  // namespace smelt
