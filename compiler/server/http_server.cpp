#include "compiler/server/http_server.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "compiler/server/asio.h"
#include "compiler/server/http_connection.h"

namespace smelt::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 1024;
constexpr size_t kWorkers = 4;
constexpr size_t kOtherThreads = 2;                 // that may start later
constexpr size_t kSpareBytes = size_t{32} << 20;    // for the heads and replies of all connections
constexpr size_t kRefused = 64;                     // connections that are only told that there are too many
constexpr std::chrono::milliseconds kNoMeans{100};  // until another connection is tried to be taken

bool is_lack(const error_code& fault) {
  namespace errors = boost::system::errc;
  return fault == errors::too_many_files_open || fault == errors::too_many_files_open_in_system ||
         fault == errors::no_buffer_space || fault == errors::not_enough_memory;
}

size_t stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (::pthread_getattr_default_np(&attributes) != 0) return bytes;
  std::ignore = ::pthread_attr_getstacksize(&attributes, &bytes);
  std::ignore = ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// Returns the number of workers. A pool whose threads cannot be created would wait for them for ever.
size_t workers_within(const MemoryRoom& room) {
  const size_t bytes = (kWorkers + kOtherThreads) * stack_bytes() + kSpareBytes;  // some is left then, too
  if (!room.has(bytes))
    fail_with(Status::out_of_memory,
              "the server needs at least {} MiB more of memory: raise the limit, as with ulimit -v unlimited",
              (bytes + kSpareBytes) >> 20);
  return kWorkers;
}

}  // namespace

/// Everything but bind(), serve(), drain() and stop() runs on the thread that listens.
class HttpServer::Listener {
 public:
  explicit Listener(HttpOptions options)
      : options_(std::move(options)),
        hosts_(options_.allowed_hosts),
        origins_(options_.allowed_origins),
        routes_(hosts_, origins_, options_.keys, options_.pages),
        open_requests_(options_.most_per_key),
        most_(std::max<size_t>(options_.connections, 1)) {}
  ~Listener() { end_workers(); }

  void serve(BatchService& batch, ModelService& model, size_t connections) {
    most_ += connections;
    routes_.serve(batch, model);
  }
  void drain() { routes_.drain(); }

  int bind(const std::string& host, int port) {
    error_code fault;
    const auto found =
        tcp::resolver(context_).resolve(host, std::to_string(port), tcp::resolver::passive, fault);
    for (auto each = found.begin(); each != found.end(); ++each) {
      fault = open(each->endpoint());
      if (!fault) break;
    }
    if (fault)
      fail_with(Status::unavailable,
                "{}:{}: cannot be listened at ({}); give another --host or --port, or 0 for any free one",
                host, port, fault.message());
    const tcp::endpoint bound = acceptor_.local_endpoint();
    hosts_.listen({host, bound.address().to_string(), bound.address().is_loopback(), bound.port()});
    return bound.port();
  }

  /// Returns why it no longer listens.
  std::string run() {
    asio::co_spawn(context_, accept_all(), [](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    while (!run_context()) continue;
    end_workers();
    for (const auto& [id, connection] : connections_) connection->abandon();
    return fault_ ? fault_.message() : "it listens at no address";
  }

  void stop() {
    asio::post(context_, [this] { end(); });
  }

 private:
  using Connections = std::map<uint64_t, std::shared_ptr<HttpConnection>>;

  error_code open(const tcp::endpoint& endpoint) {
    error_code fault, ignored;
    acceptor_.close(ignored);
    acceptor_.open(endpoint.protocol(), fault);
    if (!fault) acceptor_.set_option(tcp::acceptor::reuse_address(true), fault);
    if (!fault) acceptor_.bind(endpoint, fault);
    if (!fault) acceptor_.listen(kBacklog, fault);
    return fault;
  }

  /// Returns false where a handler lacked memory: its connection has ended, and the others continue.
  bool run_context() {
    try {
      context_.run();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  asio::awaitable<void> accept_all() {
    while (acceptor_.is_open()) {
      const error_code fault = co_await accept_one();
      if (!fault || !acceptor_.is_open()) continue;
      if (!is_lack(fault)) {
        fault_ = fault;
        end();
        co_return;
      }
      make_room();
      error_code ignored;
      pause_.expires_after(kNoMeans);
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  asio::awaitable<error_code> accept_one() {
    error_code fault;
    try {
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, fault));
      room_.require(0);
      if (!fault) admit(std::move(socket));
    } catch (const std::bad_alloc&) {
      fault = make_error_code(boost::system::errc::not_enough_memory);
    }
    co_return fault;
  }

  void admit(tcp::socket socket) {
    if (connections_.size() >= most_) make_room();
    const bool is_full = connections_.size() >= most_;
    if (connections_.size() >= most_ + kRefused) return;
    const uint64_t id = ++taken_;
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), service_);
    connections_.emplace(id, connection);
    try {
      start(id, connection, is_full);
    } catch (const std::bad_alloc&) {
      connections_.erase(id);
    }
  }

  void start(uint64_t id, const std::shared_ptr<HttpConnection>& connection, bool is_full) {
    asio::co_spawn(
        context_,
        [connection, is_full] { return is_full ? connection->refuse(full_reply()) : connection->run(); },
        [this, id](const std::exception_ptr&) { forget(id); });
  }

  static HttpReply full_reply() {
    return error_reply(ApiError(http::kUnavailable, "there are too many connections", "", "overloaded"));
  }

  /// Closes the connection that has waited for its client for the longest time: clients that send nothing, or
  /// send slowly, keep others out for no longer than it takes these to come.
  void make_room() {
    const auto since = [](const auto& each) {
      return each.second->waits_since().value_or(HttpConnection::Clock::time_point::max());
    };
    const auto oldest = std::ranges::min_element(connections_, {}, since);
    if (oldest == connections_.end() || !oldest->second->waits_since()) return;
    const std::shared_ptr<HttpConnection> connection = oldest->second;
    connections_.erase(oldest);
    connection->close();
  }

  void forget(uint64_t id) {
    connections_.erase(id);
    if (service_.ends && connections_.empty()) end_.cancel();
  }

  /// Ends the server. A client with a request gets an answer, at least that the server ends, if it is ready
  /// in time.
  void end() {
    error_code ignored;
    service_.ends = true;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& [id, connection] : connections_)
      if (connection->waits_since()) connection->close();
    if (connections_.empty()) return;
    end_.expires_after(kMostEndTime);
    end_.async_wait([this](const error_code& fault) {
      if (!fault) context_.stop();
    });
  }

  void end_workers() {
    workers_.stop();
    workers_.join();
  }

  const HttpOptions options_;
  AllowedHosts hosts_;
  AllowedOrigins origins_;
  HttpRoutes routes_;
  OpenRequests open_requests_;
  std::atomic<size_t> most_;
  error_code fault_;
  uint64_t taken_ = 0;
  MemoryRoom room_{kSpareBytes};  // before the workers
  HttpService service_{routes_, open_requests_, options_.log, workers_, room_};
  asio::io_context context_{1};
  asio::thread_pool workers_{workers_within(room_)};
  Connections connections_;
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_}, end_{context_};
};

HttpServer::HttpServer(HttpOptions options) : listener_(std::make_unique<Listener>(std::move(options))) {}

HttpServer::~HttpServer() = default;

void HttpServer::serve(BatchService& batch, ModelService& model, size_t connections) {
  listener_->serve(batch, model, connections);
}

void HttpServer::drain() { listener_->drain(); }

int HttpServer::bind(const std::string& host, int port) { return listener_->bind(host, port); }

void HttpServer::listen() {
  const std::string fault = listener_->run();
  if (!stopped_) fail_with(Status::io, "the server no longer listens: {}", fault);
}

void HttpServer::stop() {
  stopped_ = true;
  listener_->stop();
}

}  // namespace smelt::server
