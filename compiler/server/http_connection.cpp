#include "compiler/server/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <cerrno>
#include <exception>
#include <new>
#include <tuple>
#include <utility>

namespace smelt::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace fields = boost::beast::http;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;
using Message = fields::request<fields::empty_body>;

/// Wakes a connection that a thread without memory could not wake.
constexpr seconds kMostSilence{1};

template <typename T>
using Awaitable = asio::awaitable<T>;

bool is(beast::string_view text, const char* other) { return beast::iequals(text, other); }

/// `name` is one of Beast's names, or a text.
template <typename Name>
std::optional<std::string> field(const Message& message, Name name) {
  const auto it = message.find(name);
  if (it == message.end()) return std::nullopt;
  return std::string(it->value());
}

std::string lower_field(const Message& message, fields::field name) {
  std::string text = field(message, name).value_or("");
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "http://host/path?query" names its own host, which goes before the field.
void read_target(std::string target, HttpHead& head) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    const size_t path = std::min(target.find('/', kScheme.size()), target.size());
    head.host = target.substr(kScheme.size(), path - kScheme.size());
    target.erase(0, path);
  }
  head.path = target.substr(0, target.find('?'));
}

ApiError head_fault(const error_code& fault) {
  if (fault == fields::error::header_limit || fault == fields::error::buffer_overflow)
    return {http::kHeadTooLarge,
            fmt::format("the request line and the fields have more than {} bytes", kMostHeadBytes)};
  if (fault == fields::error::body_limit)
    return {http::kTooLarge, fmt::format("the body has more than {} bytes", kMostBodyBytes)};
  const char* expected = fault == fields::error::bad_version
                             ? "; expected HTTP/1.0 or HTTP/1.1, in lines that end with CR LF"
                             : "";
  return {http::kBadRequest,
          fmt::format("the request cannot be read as HTTP: {}{}", fault.message(), expected)};
}

ApiError body_fault(const error_code& fault) {
  if (fault != fields::error::buffer_overflow && fault != fields::error::header_limit)
    return head_fault(fault);
  return {http::kBadRequest, "a line between the chunks of the body is too long"};
}

/// The client left, or never sent a byte of a request.
bool is_silent(const error_code& fault) {
  return fault == fields::error::end_of_stream || (fault.category() == boost::system::system_category()) ||
         fault == asio::error::eof;
}

std::string chunk(const std::string& text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); }

}  // namespace

HttpConnection::HttpConnection(Socket socket, HttpService& service)
    : socket_(std::move(socket)),
      service_(service),
      deadline_(socket_.get_executor()),
      event_(socket_.get_executor()) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // a token is a small packet
}

HttpConnection::~HttpConnection() { release_body(); }

Awaitable<void> HttpConnection::run() {
  try {
    while (co_await serve_one()) continue;
  } catch (const boost::system::system_error&) {  // the client has gone
  }
  end_answer();
  log_request();
  close();
}

Awaitable<void> HttpConnection::refuse(HttpReply reply) {
  try {
    co_await write_reply(reply);
    co_await skip_rest();
  } catch (const boost::system::system_error&) {
  }
  close();
}

void HttpConnection::close() {
  error_code ignored;
  socket_.close(ignored);
  without_limit();
}

void HttpConnection::abandon() {
  if (answer_) answer_->abandon();
  answer_.reset();
}

/// Cancels what still runs of a completion, and frees what the request has taken.
void HttpConnection::end_answer() {
  if (answer_ && record_) record_->usage = answer_->usage(), record_->finishes = answer_->finishes();
  claim_.reset();
  abandon();
  release_body();
}

void HttpConnection::log_request() {
  if (record_ && service_.log) service_.log(*record_);
  record_.reset();
}

/// One request; false where no other follows.
Awaitable<bool> HttpConnection::serve_one() {
  std::optional<HttpReply> refusal;
  keep_ = replied_ = false;
  try {
    if (!co_await read_head()) co_return false;
    co_await respond();
  } catch (const boost::system::system_error&) {
    throw;
  } catch (const std::exception& error) {
    refusal = error_reply(error);
  }
  end_answer();
  buffer_.shrink_to_fit();
  const bool is_cut = refusal && replied_;
  if (refusal && !is_cut) co_await write_reply(*refusal);
  log_request();
  if (is_cut) co_return false;
  if (!keep_) co_await skip_rest();
  co_return keep_;
}

/// False where the client sends no further request.
Awaitable<bool> HttpConnection::read_head() {
  error_code fault;
  waits_since_ = Clock::now();
  if (buffer_.size() == 0) {
    constexpr size_t kFirst = 2048;
    within(kMostIdle);
    buffer_.commit(
        co_await socket_.async_read_some(buffer_.prepare(kFirst), redirect_error(use_awaitable, fault)));
    if (fault) co_return false;
  }
  service_.room.require(0);
  is_head_request_ = false, is_http_1_1_ = true;
  origin_fields_.clear();
  parser_.emplace();
  parser_->header_limit(kMostHeadBytes);
  parser_->body_limit(kMostBodyBytes);
  within(kMostHeadTime);
  co_await fields::async_read_header(socket_, buffer_, *parser_, redirect_error(use_awaitable, fault));
  without_limit();
  waits_since_.reset();
  if (fault == asio::error::operation_aborted && timed_out_)
    throw ApiError(http::kTimeout, fmt::format("the request line and the fields took more than {} seconds",
                                               kMostHeadTime.count()));
  if (fault && is_silent(fault)) co_return false;
  if (fault) throw head_fault(fault);
  co_return true;
}

HttpHead HttpConnection::head() const {
  const Message& message = parser_->get();
  HttpHead head{.method = std::string(message.method_string()),
                .path = "",
                .host = field(message, fields::field::host),
                .origin = field(message, fields::field::origin),
                .authorization = field(message, fields::field::authorization),
                .request_id = field(message, "X-Request-Id"),
                .asked_method = field(message, fields::field::access_control_request_method),
                .asked_fields = field(message, fields::field::access_control_request_headers),
                .content_type = lower_field(message, fields::field::content_type),
                .content_encoding = lower_field(message, fields::field::content_encoding)};
  const size_t codings = message.count(fields::field::transfer_encoding),
               lengths = message.count(fields::field::content_length);
  head.has_length = codings + lengths > 0;
  head.has_two_lengths =
      codings + lengths > 1 || message[fields::field::content_length].find(',') != beast::string_view::npos;
  head.is_http_1_1 = message.version() != 10;
  head.has_other_coding =
      codings > 0 && (!head.is_http_1_1 || !is(message[fields::field::transfer_encoding], "chunked"));
  head.has_two_hosts = message.count(fields::field::host) > 1 || message.count(fields::field::origin) > 1;
  if (head.is_http_1_1) head.expect = lower_field(message, fields::field::expect);
  head.fields = static_cast<size_t>(std::distance(message.begin(), message.end()));
  read_target(std::string(message.target()), head);
  return head;
}

/// Answers what `parser_` has read.
Awaitable<void> HttpConnection::respond() {
  const HttpHead asked = head();
  record_ = RequestRecord{.id = request_id(asked.request_id), .method = asked.method, .path = asked.path};
  is_head_request_ = asked.method == "HEAD", is_http_1_1_ = asked.is_http_1_1;
  origin_fields_ = service_.routes.fields_for(asked);
  check_framing(asked);
  const bool keeps = parser_->keep_alive();
  keep_ = keeps && parser_->is_done();
  if (const auto preflight = service_.routes.preflight(asked)) {
    co_await write_reply(*preflight);
    co_return;
  }
  record_->client = service_.routes.check(asked);
  if (asked.method != "POST") {
    const HttpReply reply = service_.routes.get(asked.path);
    co_await write_reply(reply);
    co_return;
  }
  claim_ = service_.open_requests.open(record_->client);
  claim_body();
  if (!asked.expect.empty() && !parser_->is_done()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  std::string body = co_await read_body();
  keep_ = keeps;
  co_await complete(asked.path, std::move(body));
}

/// Reserves memory for a body. Throws ApiError where the bodies that are read now take all of it.
void HttpConnection::claim_body() {
  const size_t bytes = parser_->content_length().value_or(kMostBodyBytes);
  if (service_.body_bytes + bytes > kMostBodiesBytes)
    throw ApiError(http::kUnavailable, "too many bodies are read now", "", "overloaded");
  claimed_ = bytes;
  service_.body_bytes += claimed_;
}

void HttpConnection::release_body() { service_.body_bytes -= std::exchange(claimed_, 0); }

Awaitable<std::string> HttpConnection::read_body() {
  service_.room.require(claimed_);
  fields::request_parser<fields::string_body> body(std::move(*parser_));
  body.get().body().reserve(claimed_);
  const Clock::time_point end = Clock::now() + kMostBodyTime;
  error_code fault;
  waits_since_ = Clock::now();
  while (!body.is_done() && !fault) {
    within(std::min<Clock::duration>(kMostPause, end - Clock::now()));
    co_await fields::async_read_some(socket_, buffer_, body, redirect_error(use_awaitable, fault));
  }
  without_limit();
  waits_since_.reset();
  if (!body.is_done() && Clock::now() >= end)
    throw ApiError(http::kTimeout, fmt::format("the body took more than {} seconds", kMostBodyTime.count()));
  if (fault == fields::error::partial_message || fault == asio::error::operation_aborted)
    throw ApiError(http::kBadRequest,
                   fmt::format("the body ended after {} bytes, before its end", body.get().body().size()));
  if (fault && is_silent(fault)) throw boost::system::system_error(fault);
  if (fault) throw body_fault(fault);
  parser_.reset();
  co_return std::move(body.get().body());
}

Awaitable<void> HttpConnection::complete(const std::string& path, std::string body) {
  auto text = std::make_shared<const std::string>(std::move(body));
  std::optional<HttpReply> reply;
  std::function<void()> begin = [this, path, text, &reply] {
    const MemoryRoom::Claim claim = service_.room.claim(kMostParsedBytes * text->size());
    if (HttpRoutes::replies_at_once(path))
      reply = service_.routes.reply(path, *text);
    else
      answer_ = service_.routes.post(path, *text);
  };
  is_gone_ = false;
  watch_client();
  text.reset();
  co_await on_worker(std::move(begin));
  release_body();
  if (reply) {
    claim_.reset();
    co_await write_reply(*reply);
    co_return;
  }
  answer_->on_change([self = weak_from_this()] { wake_later(self.lock()); });
  while (!answer_->accepted()) co_await news();
  if (answer_->streams())
    co_await stream();
  else
    co_await answer_whole();
}

Awaitable<void> HttpConnection::answer_whole() {
  while (!answer_->collect()) {
    require_client();
    co_await news();
  }
  HttpReply reply;
  std::function<void()> write_text = [this, &reply] {
    const MemoryRoom::Claim claim = service_.room.claim(answer_->most_bytes_of_whole());
    reply.body = answer_->whole();
  };
  co_await on_worker(std::move(write_text));
  claim_.reset();  // before the client knows that its request has ended
  co_await write_reply(reply);
}

/// Streams events. Those that come while the client has not read the last ones wait as the tokens that they
/// report.
Awaitable<void> HttpConnection::stream() {
  const bool has_chunks = is_http_1_1_;  // else the text ends with the connection
  keep_ &= has_chunks;
  HttpReply reply{.type = "text/event-stream", .fields = {{"Cache-Control", "no-cache"}}};
  std::string text = status_and_fields(reply, has_chunks ? "Transfer-Encoding: chunked\r\n" : "");
  while (true) {
    const std::string events = answer_->events(std::chrono::milliseconds(0));
    if (!events.empty()) text += has_chunks ? chunk(events) : events;
    if (answer_->done() && has_chunks) text += chunk("");
    if (answer_->done()) claim_.reset();
    if (!text.empty()) co_await write(text);
    if (!events.empty() && !record_->first_event)
      record_->first_event = std::chrono::duration<double>(Clock::now() - record_->begin).count();
    text.clear();
    if (answer_->done()) co_return;
    co_await news();
    if (is_gone_) throw boost::system::system_error(asio::error::eof);
  }
}

std::string HttpConnection::status_and_fields(const HttpReply& reply, const std::string& framing) {
  service_.routes.count(reply.status);
  replied_ = true;
  keep_ &= !service_.ends;
  const auto reason = fields::obsolete_reason(static_cast<fields::status>(reply.status));
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}Connection: {}\r\n", reply.status,
                                 std::string_view(reason.data(), reason.size()), reply.type, framing,
                                 keep_ ? "keep-alive" : "close");
  if (record_) {
    record_->status = reply.status;
    text += fmt::format("X-Request-Id: {}\r\n", record_->id);
  }
  const auto add = [&](const auto& list) {
    for (const auto& [name, value] : list) text += fmt::format("{}: {}\r\n", name, value);
  };
  add(reply.fields), add(origin_fields_);
  return text + "\r\n";
}

/// The head and the beginning of the body are one piece, because each piece costs the server and the client a
/// system call.
Awaitable<void> HttpConnection::write_reply(const HttpReply& reply) {
  std::string first = status_and_fields(reply, fmt::format("Content-Length: {}\r\n", reply.body.size()));
  const std::string_view body = is_head_request_ ? std::string_view() : reply.body;
  const size_t with_head = std::min(body.size(), kPieceBytes - std::min(first.size(), kPieceBytes));
  first += body.substr(0, with_head);
  co_await write(first);
  co_await write(body.substr(with_head));
}

/// A client that reads slower than a piece in its time is gone, with what it holds.
Awaitable<void> HttpConnection::write(std::string_view text) {
  for (size_t at = 0; at < text.size(); at += kPieceBytes) {
    const std::string_view piece = text.substr(at, kPieceBytes);
    within(kMostPieceTime);
    co_await asio::async_write(socket_, asio::buffer(piece.data(), piece.size()), use_awaitable);
  }
  without_limit();
}

/// Reads what a client still sends: closing before would take the reply from it.
Awaitable<void> HttpConnection::skip_rest() {
  error_code fault;
  socket_.shutdown(Socket::shutdown_send, fault);
  waits_since_ = Clock::now();
  buffer_.consume(buffer_.size());
  within(service_.ends ? kMostEndTime / 4 : Clock::duration(kMostSkipTime));
  for (size_t skipped = 0; !fault && skipped < kMostSkippedBytes;)
    skipped += co_await socket_.async_read_some(buffer_.prepare(kMostBufferBytes),
                                                redirect_error(use_awaitable, fault));
  without_limit();
}

/// Runs it on another thread and waits for it; throws what it throws.
Awaitable<void> HttpConnection::on_worker(std::function<void()> work) {
  const auto outcome = std::make_shared<Outcome>();
  asio::post(service_.workers, [self = shared_from_this(), outcome, work = std::move(work)]() mutable {
    try {
      work();
    } catch (...) {
      outcome->fault = std::current_exception();
    }
    work = {};
    outcome->done = true;
    wake_later(std::move(self));
  });
  while (!outcome->done) co_await news();
  if (outcome->fault) std::rethrow_exception(outcome->fault);
}

/// Called by other threads. Without memory for it the connection looks a little later.
void HttpConnection::wake_later(std::shared_ptr<HttpConnection> connection) noexcept {
  if (!connection) return;
  const auto executor = connection->socket_.get_executor();
  try {
    asio::post(executor, [connection = std::move(connection)] { connection->wake(); });
  } catch (const std::bad_alloc&) {
  }
}

/// Waits until something has changed for this connection.
Awaitable<void> HttpConnection::news() {
  if (!woken_) {
    error_code ignored;
    event_.expires_after(kMostSilence);
    co_await event_.async_wait(redirect_error(use_awaitable, ignored));
  }
  woken_ = false;
}

void HttpConnection::wake() {
  woken_ = true;
  event_.cancel();
}

/// Sees a client go that nothing is written to.
void HttpConnection::watch_client() {
  if (std::exchange(watches_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = weak_from_this()](const error_code& fault) {
    if (const auto connection = self.lock()) connection->look_at_client(static_cast<bool>(fault));
  });
}

void HttpConnection::look_at_client(bool has_failed) {
  watches_ = false;
  char byte = 0;
  const ssize_t count = has_failed ? 0 : ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return;  // the next request waits
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return watch_client();
  is_gone_ = true;
  wake();
}

void HttpConnection::require_client() const {
  if (is_gone_)
    throw ApiError(http::kBadRequest,
                   "the client closed its side of the connection before the answer: keep it open until then",
                   "", "client_closed");
}

/// Ends what the socket waits for after this time.
void HttpConnection::within(Clock::duration time) {
  timed_out_ = false;
  deadline_.expires_after(time);
  deadline_.async_wait([self = weak_from_this(), limit = ++limit_](const error_code& fault) {
    const auto connection = self.lock();
    if (fault || !connection || connection->limit_ != limit) return;
    connection->timed_out_ = true;
    error_code ignored;
    connection->socket_.cancel(ignored);
  });
}

void HttpConnection::without_limit() {
  ++limit_;
  deadline_.cancel();
}

}  // namespace smelt::server
