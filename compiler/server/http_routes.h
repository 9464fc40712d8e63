// The paths of the server, and the checks of a request before its body is read.
#pragma once

#include <map>
#include <string>

#include "compiler/server/allowed_hosts.h"
#include "compiler/server/batch_thread.h"
#include "compiler/server/completion_service.h"
#include "compiler/server/http_message.h"
#include "runtime/engine/serving/api_error.h"

namespace smelt::server {

/// Checks the fields that frame a request: Host, Content-Length, Transfer-Encoding and Expect. Throws
/// ApiError if a proxy between client and server could read the request differently (request smuggling), or
/// if it has more than kMostFields fields. The caller must then close the connection.
void check_framing(const HttpHead& head);

class HttpRoutes {
 public:
  HttpRoutes(BatchThread& batch, CompletionService& completions, AllowedHosts& hosts)
      : batch_(batch), completions_(completions), hosts_(hosts) {}

  /// Checks the host, the path, the method and the body's header fields, before the body is read. Throws
  /// ApiError if the request is not acceptable.
  void check(const HttpHead& head) const;
  /// Returns the reply to GET or HEAD of `path`. Throws ApiError for an unknown model, and for /health if the
  /// batch has ended by a fault. Requires: check() has accepted the request.
  HttpReply get(const std::string& path) const;
  /// Starts the completion for a POST of `body` to `path`, and returns its answer, never null. Throws
  /// ApiError or Error for a bad body.
  std::shared_ptr<CompletionAnswer> post(const std::string& path, std::string_view body) const;
  /// Counts a reply with HTTP status `status` for /metrics.
  void count(int status) { ++replies_[status]; }

 private:
  BatchThread& batch_;
  CompletionService& completions_;
  AllowedHosts& hosts_;
  std::map<int, uint64_t> replies_;  // number of replies by status
};

/// Returns the reply for an exception that was thrown while a request was served. Its status is that of the
/// ApiError, or of api_error() for another Error; 503 for std::bad_alloc, else 500. The body is JSON that
/// states the error.
HttpReply error_reply(const std::exception& thrown);

}  // namespace smelt::server
