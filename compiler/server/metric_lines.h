// Lines of the exposition format of Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::server {

/// Returns the lines that describe the metric smelt_NAME. `type`: counter or gauge; `help`: one line.
std::string metric_head(const char* name, const char* type, const char* help);
/// Returns the lines of a metric without labels.
std::string metric(const char* name, const char* type, const char* help, uint64_t value);
/// Returns a text as the value of a label, in which backslashes, quotes and line feeds are escaped.
std::string label_value(std::string_view text);

}  // namespace smelt::server
