// HTTP client for tests. Requests are arbitrary bytes, and replies are parsed.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace smelt::test {

/// A TCP connection to a port of this machine.
class Connection {
 public:
  static constexpr int kPatience = 60;  // timeout of reads and writes, in seconds

  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_open() const { return is_open_; }
  /// Returns whether all bytes were sent; false if the server closed the connection before.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }
  /// Sets a small receive buffer, so that the server soon cannot send more while the test does not read.
  void read_slowly() const {
    const int bytes = 4096;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  /// Returns the next bytes; empty if the server has closed the connection, or after the timeout.
  std::string some() const {
    std::string bytes(1 << 16, '\0');
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }
  std::string all() const {
    std::string text;
    for (std::string more = some(); !more.empty(); more = some()) text += more;
    return text;
  }
  /// Reads until the text contains `end`, or until some() returns nothing. Returns the text.
  std::string until(std::string_view end) const {
    std::string text;
    while (text.find(end) == std::string::npos) {
      const std::string more = some();
      if (more.empty()) break;
      text += more;
    }
    return text;
  }

 private:
  int socket_;
  bool is_open_ = false;
};

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;

  std::string field(const std::string& name) const {
    const auto it = fields.find(name);
    return it == fields.end() ? "" : it->second;
  }
};

/// Returns the body of a reply with chunked transfer encoding.
inline std::string without_chunks(std::string_view text) {
  std::string body;
  while (!text.empty()) {
    const size_t size = std::stoul(std::string(text.substr(0, text.find('\r'))), nullptr, 16);
    text.remove_prefix(text.find('\n') + 1);
    body += text.substr(0, size);
    text.remove_prefix(std::min(size + 2, text.size()));
    if (size == 0) break;
  }
  return body;
}

/// Parses the whole text of a connection that had one reply; nothing if it is no HTTP/1.1 reply.
inline std::optional<HttpReply> parse_reply(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return std::nullopt;
  HttpReply reply{.status = std::stoi(text.substr(9)), .fields = {}, .body = text.substr(end + 4)};
  for (size_t at = text.find("\r\n"); at < end; at = text.find("\r\n", at + 2)) {
    const size_t colon = text.find(": ", at), line_end = text.find("\r\n", at + 2);
    std::string name = text.substr(at + 2, colon - at - 2);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.fields[name] = text.substr(colon + 2, line_end - colon - 2);
  }
  if (reply.field("transfer-encoding") == "chunked") reply.body = without_chunks(reply.body);
  return reply;
}

/// Client that opens a new connection for each request. Functions that send return the reply; nothing if
/// there is no valid one.
class Client {
 public:
  explicit Client(int port) : port_(port) {}

  std::string head(const std::string& method, const std::string& path) const {
    return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
           "\r\nConnection: close\r\n";
  }
  std::string post_text(const std::string& path, const std::string& body) const {
    return head("POST", path) +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
  std::optional<HttpReply> get(const std::string& path) const { return send(head("GET", path) + "\r\n"); }
  std::optional<HttpReply> post(const std::string& path, const std::string& body) const {
    return send(post_text(path, body));
  }
  std::optional<HttpReply> send(const std::string& bytes) const {
    const Connection connection(port_);
    connection.send(bytes);
    return parse_reply(connection.all());
  }
  /// Sends a request, and returns the status of the reply as text, or "no answer".
  std::string status(const std::string& bytes) const {
    const auto reply = send(bytes);
    return reply ? std::to_string(reply->status) : "no answer";
  }

 private:
  int port_;
};

}  // namespace smelt::test
