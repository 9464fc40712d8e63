// HTTP requests and replies in the form that the routes of the server use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smelt::server {

struct HttpHead {
  std::string method, path;                 // the path without a query
  std::optional<std::string> host, origin;  // `host` of an absolute target where it has one
  std::string content_type, content_encoding;
  std::string expect = {};
  bool has_length = false;  // Content-Length, or chunks
  bool has_two_lengths = false, has_other_coding = false, has_two_hosts = false, is_http_1_1 = true;
  size_t fields = 0;
};

struct HttpReply {
  int status = 200;
  const char* type = "application/json";
  std::string body = {};
  std::vector<std::pair<const char*, std::string>> fields = {};
};

}  // namespace smelt::server
