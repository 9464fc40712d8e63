// The log of requests: one line of JSON for each request that the server has answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/serving/completion_reply.h"
#include "runtime/engine/serving/request.h"

namespace smelt::server {

/// A request and its answer.
struct RequestRecord {
  using Clock = std::chrono::steady_clock;
  std::string id;           // of the reply's field X-Request-Id
  std::string client = {};  // name of the client's key; empty: none was needed
  std::string method = {}, path = {};
  int status = 0;  // of the reply; 0: the client left before there was one
  Clock::time_point begin = Clock::now();
  std::optional<double> first_event = {};     // seconds until the first bytes of a streamed answer were sent
  std::optional<CompletionUsage> usage = {};  // of a completion
  std::vector<Finish> finishes = {};          // one per choice of a completion
};

/// Returns the id that a client gave to its request, if it is one to 128 letters, digits or characters of
/// "-_."; otherwise "req-" and a number, which is different in each call.
std::string request_id(const std::optional<std::string>& given);

/// Returns the line without its end: {"time" (UTC, ISO 8601), "request_id", "client", "method", "path",
/// "status", "seconds", "first_event_seconds", "prompt_tokens", "new_tokens", "finish"}. Fields that a
/// request has no value for are left out. Line ends and other special characters in texts of the client are
/// escaped.
std::string log_line(const RequestRecord& record);

}  // namespace smelt::server
