// HTTP requests and replies in the form that the routes of the server use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smelt::server {

/// Request line and header fields of a request. Texts are empty if the field is missing.
struct HttpHead {
  std::string method, path;  // the path without a query
  /// Fields Host and Origin; std::nullopt if missing. If the request target is an absolute URL, `host` is
  /// taken from the URL.
  std::optional<std::string> host, origin;
  std::optional<std::string> authorization = {}, request_id = {};  // fields Authorization and X-Request-Id
  /// Fields Access-Control-Request-Method and Access-Control-Request-Headers, which a preflight has.
  std::optional<std::string> asked_method = {}, asked_fields = {};
  std::string content_type, content_encoding;  // in lower case
  std::string expect = {};                     // in lower case; empty for HTTP/1.0
  bool has_length = false;                     // Content-Length or Transfer-Encoding is present
  /// `has_two_lengths`: Content-Length and Transfer-Encoding occur more than once in total, or Content-Length
  /// is a list. `has_other_coding`: Transfer-Encoding is other than "chunked", or occurs in HTTP/1.0.
  /// `has_two_hosts`: Host or Origin occurs more than once.
  bool has_two_lengths = false, has_other_coding = false, has_two_hosts = false, is_http_1_1 = true;
  size_t fields = 0;  // number of header fields
};

/// Reply with a complete body. Content-Length and Connection are added when it is sent.
struct HttpReply {
  int status = 200;
  const char* type = "application/json";  // Content-Type
  std::string body = {};
  std::vector<std::pair<const char*, std::string>> fields = {};  // further header fields: name, value
};

}  // namespace smelt::server
