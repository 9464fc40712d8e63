// A report as one self-contained HTML file.
#pragma once

#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns a page about a plan, from report_data.
std::string report_page(const Json& data, const std::string& title);
/// Returns a page about a training run, from run_data.
std::string run_page(const Json& data, const std::string& title);

/// Files of compiler/report/page, defined by a source that cmake/embed.cmake generates.
namespace page {
extern const std::string_view kStyle, kPlanHtml, kPlanScript, kRunHtml, kRunScript;
}  // namespace page

}  // namespace smelt
