// AllowedOrigins: the web pages of other hosts that may use the server (CORS, cross-origin resource sharing).
// A browser sends the page's origin with a request, and shows the reply to the page only if the reply allows
// the origin. Before a request with a body of JSON or with a key, the browser sends a request OPTIONS
// (preflight), whose reply says whether the page may send the request.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/server/http_message.h"

namespace smelt::server {

class AllowedOrigins {
 public:
  /// `named`: origins, SCHEME://HOST or SCHEME://HOST:PORT, or "*" for all. If the list is empty, no page of
  /// another host is allowed. Throws Error if an element has another form.
  explicit AllowedOrigins(const std::vector<std::string>& named);

  /// Returns whether the page that has sent the field Origin is allowed; false without this field.
  bool has(const std::optional<std::string>& origin) const;
  /// Returns the header fields that let the page read a reply; none if the page is not allowed.
  std::vector<std::pair<const char*, std::string>> fields_for(const std::optional<std::string>& origin) const;
  /// Returns the reply to the preflight `head`. `methods`: the methods of its path, such as "GET, POST".
  /// Requires: has(head.origin).
  static HttpReply preflight_reply(const HttpHead& head, const std::string& methods);

 private:
  std::vector<std::string> named_;  // in lower case
  bool all_ = false;
};

}  // namespace smelt::server
