// HttpConnection: one connection of the HTTP server to a client. It serves the client's requests one after
// the other, within the limits of http_limits.h.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include "compiler/server/asio.h"
#include "compiler/server/http_limits.h"
#include "compiler/server/http_routes.h"
#include "compiler/server/request_log.h"
#include "runtime/system/memory_room.h"

namespace smelt::server {

/// Data that the connections of a server share. Only the server's I/O thread uses them, except that workers
/// call HttpRoutes::post and claim memory from `room`.
struct HttpService {
  HttpRoutes& routes;
  OpenRequests& open_requests;
  const std::function<void(const RequestRecord&)>&
      log;                            // called after each request; empty: nothing is logged
  boost::asio::thread_pool& workers;  // for long jobs: parsing bodies, writing large replies
  MemoryRoom& room;                   // memory that a request needs is claimed here first
  size_t body_bytes = 0;  // bytes that the bodies of all connections reserve, see kMostBodiesBytes
  bool ends = false;      // the server is stopping: connections accept no further request
};

/// Coroutines of one connection. All functions run on the thread of the socket's io_context, except
/// wake_later() and the jobs that on_worker() passes to HttpService::workers.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Clock = std::chrono::steady_clock;
  template <typename T>
  using Awaitable = boost::asio::awaitable<T>;

  HttpConnection(Socket socket, HttpService& service);
  ~HttpConnection();

  /// Serves requests until the client disconnects, a reply does not permit another request, or the server
  /// stops. Then closes the socket.
  Awaitable<void> run();
  /// Sends `reply` without reading a request, and closes the socket.
  Awaitable<void> refuse(HttpReply reply);

  /// Returns the time since which the connection has waited for its client to send data. The result is empty
  /// while the server computes or sends an answer.
  std::optional<Clock::time_point> waits_since() const { return waits_since_; }
  /// Closes the socket.
  void close();
  /// Cancels the answer that the connection waits for, if there is one.
  void abandon();

 private:
  /// The result of a worker's job.
  struct Outcome {
    std::exception_ptr fault;
    std::atomic<bool> done = false;  // set even if there is too little memory to wake the connection
  };
  using HeadParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

  Awaitable<bool> serve_one();
  Awaitable<bool> read_head();
  Awaitable<void> respond();
  Awaitable<std::string> read_body();
  Awaitable<void> complete(const std::string& path, std::string body);
  Awaitable<void> answer_whole();
  Awaitable<void> stream();
  Awaitable<void> write_reply(const HttpReply& reply);
  Awaitable<void> write(std::string_view text);
  /// Reads and discards what the client still sends, because a close with unread input could lose the reply.
  Awaitable<void> skip_rest();

  /// Runs `work` on a worker thread, and waits for its end.
  Awaitable<void> on_worker(std::function<void()> work);
  /// Waits for wake().
  Awaitable<void> news();
  static void wake_later(std::shared_ptr<HttpConnection> connection) noexcept;
  void wake();
  /// Sets is_gone_ and calls wake() as soon as the client has disconnected.
  void watch_client();
  void look_at_client(bool has_failed);
  void require_client() const;

  void end_answer();
  void log_request();
  void claim_body();
  void release_body();
  /// Sets the time limit of the socket's operations; when it expires, they are cancelled.
  void within(Clock::duration time);
  void without_limit();
  HttpHead head() const;
  std::string status_and_fields(const HttpReply& reply, const std::string& framing);

  Socket socket_;
  HttpService& service_;
  boost::asio::steady_timer deadline_, event_;  // the time limit; the timer that news() waits for
  boost::beast::flat_buffer buffer_{kMostBufferBytes};
  std::optional<HeadParser> parser_;
  std::shared_ptr<Answer> answer_;
  std::vector<std::pair<const char*, std::string>> origin_fields_;  // of the replies to the current request
  std::optional<RequestRecord>
      record_;                 // of the request that is being answered; nothing before its head is read
  OpenRequests::Claim claim_;  // counts the request among the open requests of its client
  std::optional<Clock::time_point> waits_since_;
  uint64_t limit_ = 0;  // number of the current time limit; timers of earlier limits are ignored
  size_t claimed_ = 0;  // bytes of HttpService::body_bytes that the current body reserves
  bool timed_out_ = false, woken_ = false, watches_ = false, is_gone_ = false;
  bool is_head_request_ = false, is_http_1_1_ = true;
  bool keep_ = false;     // the connection stays open for another request
  bool replied_ = false;  // the status line of the current reply was sent
};

}  // namespace smelt::server
