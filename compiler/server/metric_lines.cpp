#include "compiler/server/metric_lines.h"

#include <fmt/format.h>

namespace smelt::server {

std::string metric_head(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP smelt_{} {}\n# TYPE smelt_{} {}\n", name, help, name, type);
}

std::string metric(const char* name, const char* type, const char* help, uint64_t value) {
  return metric_head(name, type, help) + fmt::format("smelt_{} {}\n", name, value);
}

std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

}  // namespace smelt::server
