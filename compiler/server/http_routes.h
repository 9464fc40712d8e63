// The URL paths that the server answers, and the checks of a request before its body is read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/server/allowed_hosts.h"
#include "compiler/server/allowed_origins.h"
#include "compiler/server/api_keys.h"
#include "compiler/server/batch_service.h"
#include "compiler/server/http_message.h"
#include "compiler/server/model_service.h"
#include "runtime/engine/serving/api_error.h"

namespace smelt::server {

struct AdapterMetrics;  // metrics_text.h

/// Checks the fields that frame a request: Host, Content-Length, Transfer-Encoding and Expect. Throws
/// ApiError if a proxy between client and server could read the request differently (request smuggling), or
/// if the request has more than kMostFields fields. The caller must then close the connection.
void check_framing(const HttpHead& head);

/// State of the server. `starting`: the model is being compiled or loaded. `ready`: it answers requests.
/// `draining`: it completes the requests that it has, and accepts no others.
enum class ServerState : uint8_t { starting, ready, draining };

/// Function that returns the reply to GET of a path; nothing if there is none. It may throw Error.
using Pages = std::function<std::optional<HttpReply>(const std::string& path)>;

/// Answers requests by their path. It has no sockets: the code of a connection reads requests and calls these
/// functions.
class HttpRoutes {
 public:
  /// `keys`: keys of which a client must send one for the paths below /v1 and with every POST. The references
  /// must outlive the object. `pages`: if it is not empty, all requests are GET or HEAD of its pages, and no
  /// model is served.
  HttpRoutes(AllowedHosts& hosts, const AllowedOrigins& origins, const ApiKeys& keys, const Pages& pages)
      : hosts_(hosts), origins_(origins), keys_(keys), pages_(pages) {}

  /// Makes the server ready: it answers requests with this model from now on. The references must outlive the
  /// object. Called once, by any thread.
  void serve(BatchService& batch, ModelService& model);
  /// Makes the server refuse new completions. May be called by any thread.
  void drain() { state_ = ServerState::draining; }
  ServerState state() const { return state_; }

  /// Returns the header fields that let a page of another host read the reply to its request
  /// (allowed_origins.h). There are none if the page is not allowed to use the server.
  std::vector<std::pair<const char*, std::string>> fields_for(const HttpHead& head) const {
    return origins_.fields_for(head.origin);
  }
  /// Returns the reply to a preflight of an allowed page; nothing for any other request. Throws ApiError for
  /// a wrong host or an unknown path.
  std::optional<HttpReply> preflight(const HttpHead& head) const;
  /// Checks the host, the path, the method, the key and the body's header fields, before the body is read.
  /// Returns the name of the client's key; empty if the path needs none. Throws ApiError if the request is
  /// not acceptable, or if the server is starting or draining.
  std::string check(const HttpHead& head) const;
  /// Returns the reply to GET or HEAD of `path`. Throws ApiError for an unknown model, and for /health if the
  /// batch has ended by a fault. Requires: check() has accepted the request.
  HttpReply get(const std::string& path) const;
  /// Starts to answer a POST of `body` to `path`. Returns the answer, which is never null. Throws ApiError or
  /// Error for a bad body.
  std::shared_ptr<Answer> post(const std::string& path, std::string_view body) const;
  /// Returns whether reply() must be called for a POST to `path`, which then needs no step of the model. For
  /// other paths, post() must be called.
  static bool replies_at_once(const std::string& path);
  /// Returns the reply to a POST of `body` to a path for which replies_at_once is true. Throws ApiError or
  /// Error for a bad body.
  HttpReply reply(const std::string& path, std::string_view body) const;
  /// Counts a reply with HTTP status `status` for /metrics.
  void count(int status) { ++replies_[status]; }

 private:
  HttpReply health() const;
  AdapterMetrics adapter_metrics() const;
  HttpReply page() const;
  HttpReply page_at(const std::string& path) const;

  BatchService* batch_ = nullptr;  // null while the server is starting
  ModelService* model_ = nullptr;  // null while the server is starting
  std::atomic<ServerState> state_ = ServerState::starting;
  AllowedHosts& hosts_;
  const AllowedOrigins& origins_;
  const ApiKeys& keys_;
  const Pages& pages_;
  std::map<int, uint64_t> replies_;  // number of replies by status
};

/// Returns the reply for an exception that was thrown while a request was served. An ApiError has its own
/// HTTP status. The status of any other Error is that of api_error(thrown). The status is 503 for
/// std::bad_alloc, and 500 for any other exception. The body is JSON that states the error.
HttpReply error_reply(const std::exception& thrown);

}  // namespace smelt::server
