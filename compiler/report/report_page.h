// A report as one self-contained HTML file.
#pragma once

#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns the HTML page with its style, scripts and data. `data`: the result of report_data.
std::string report_page(const Json& data, const std::string& title);
/// Returns an HTML page about a training run. `data`: the result of run_data.
std::string run_page(const Json& data, const std::string& title);
/// Returns a page that shows the data of /run.json, which it requests from its server every second.
std::string live_run_page(const std::string& title);
/// Returns the text of /run.json for the result of run_data.
std::string live_run_text(const Json& data);

/// Contents of the files in compiler/report/page, which cmake/embed.cmake embeds in this library.
namespace page {
extern const std::string_view kStyle, kPlanHtml, kPlanScript, kRunHtml, kRunScript;
}  // namespace page

}  // namespace smelt
