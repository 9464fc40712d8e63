#include "compiler/report/html_parts.h"

#include <algorithm>

namespace smelt {

std::string with_parts(std::string_view html, const std::map<std::string_view, std::string>& parts) {
  std::string result;
  for (size_t at = 0; at < html.size();) {
    const auto part = std::ranges::find_if(
        parts, [&](const auto& candidate) { return html.substr(at).starts_with(candidate.first); });
    if (part == parts.end()) {
      result += html[at++];
    } else {
      result += part->second;
      at += part->first.size();
    }
  }
  return result;
}

}  // namespace smelt
