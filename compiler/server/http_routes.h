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

/// Refuses requests that a proxy before the server could read differently. Throws ApiError; the caller then
/// closes the connection.
void check_framing(const HttpHead& head);

class HttpRoutes {
 public:
  HttpRoutes(BatchThread& batch, CompletionService& completions, AllowedHosts& hosts)
      : batch_(batch), completions_(completions), hosts_(hosts) {}

  /// Checks the host, the path, the method and the form of the body, before a byte of it is read. Throws
  /// ApiError.
  void check(const HttpHead& head) const;
  /// Returns the reply to GET or HEAD of a path that `check` let through. Throws ApiError.
  HttpReply get(const std::string& path) const;
  /// Begins the completion for a POST of `body` to `path`. Throws ApiError or Error for a bad body.
  std::shared_ptr<CompletionAnswer> post(const std::string& path, std::string_view body) const;
  /// Counts a reply for /metrics.
  void count(int status) { ++replies_[status]; }

 private:
  BatchThread& batch_;
  CompletionService& completions_;
  AllowedHosts& hosts_;
  std::map<int, uint64_t> replies_;
};

/// Returns the reply for an exception that is thrown while a request is answered.
HttpReply error_reply(const std::exception& thrown);

}  // namespace smelt::server
