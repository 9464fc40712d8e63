#include "compiler/server/allowed_origins.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "compiler/server/allowed_hosts.h"
#include "runtime/base/error.h"

namespace smelt::server {
namespace {

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Returns whether the text is an origin: a scheme of letters, a host, and a port if it is not the scheme's.
bool is_origin(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto is_letter = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '+' || c == '.';
  };
  return std::ranges::all_of(text.substr(0, colon), is_letter) &&
         parse_authority(text.substr(colon + 3)).has_value();
}

/// Returns whether the text is a list of names of header fields.
bool is_name_list(std::string_view text) {
  constexpr size_t kMost = 1024;
  return !text.empty() && text.size() <= kMost && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == ',' || c == ' ';
  });
}

}  // namespace

AllowedOrigins::AllowedOrigins(const std::vector<std::string>& named) {
  for (const std::string& text : named) {
    if (text == "*")
      all_ = true;
    else if (is_origin(text))
      named_.push_back(in_lower_case(text));
    else
      fail("--allow-origin {}: expected SCHEME://HOST, SCHEME://HOST:PORT or *", text);
  }
}

bool AllowedOrigins::has(const std::optional<std::string>& origin) const {
  return origin && (all_ || std::ranges::find(named_, in_lower_case(*origin)) != named_.end());
}

/// A cache must not give the reply to a page of another origin.
std::vector<std::pair<const char*, std::string>> AllowedOrigins::fields_for(
    const std::optional<std::string>& origin) const {
  if (!has(origin)) return {};
  return {{"Access-Control-Allow-Origin", all_ ? "*" : *origin},
          {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"},
          {"Vary", "Origin"}};
}

HttpReply AllowedOrigins::preflight_reply(const HttpHead& head, const std::string& methods) {
  constexpr const char* kUsual = "Authorization, Content-Type, X-Request-Id";
  const std::string names = head.asked_fields.value_or("");
  return {.type = "text/plain",
          .fields = {{"Access-Control-Allow-Methods", methods},
                     {"Access-Control-Allow-Headers", is_name_list(names) ? names : kUsual},
                     {"Access-Control-Max-Age", "600"}}};
}

}  // namespace smelt::server
