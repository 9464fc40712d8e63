// AllowedOrigins: the web pages of other hosts that may use the server (CORS, cross-origin resource sharing).
// A browser sends the page's origin with a request, and shows the reply to the page only if the reply allows
// the origin. Before requests with a body of JSON or with a key, it asks by a request OPTIONS (preflight).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/server/http_message.h"

namespace smelt::server {

class AllowedOrigins {
 public:
  /// `named`: origins, SCHEME://HOST or SCHEME://HOST:PORT, or "*" for all. Empty: no page of another host is
  /// allowed. Throws Error for any other text.
  explicit AllowedOrigins(const std::vector<std::string>& named);

  /// Returns whether the page that has sent the field Origin is allowed; false without this field.
  bool has(const std::optional<std::string>& origin) const;
  /// Returns the header fields that let the page read a reply; none if the page is not allowed.
  std::vector<std::pair<const char*, std::string>> fields_for(const std::optional<std::string>& origin) const;
  /// Returns the reply to a preflight for a path with these methods. Requires: has(head.origin).
  static HttpReply preflight_reply(const HttpHead& head, const std::string& methods);

 private:
  std::vector<std::string> named_;  // in lower case
  bool all_ = false;
};

}  // namespace smelt::server
