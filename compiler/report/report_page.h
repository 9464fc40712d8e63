// A report as one self-contained HTML file.
#pragma once

#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

/// The page (compiler/report/page/, part of this library) around its data.
std::string report_page(const Json& data, const std::string& title);

/// Made by cmake/embed.cmake of the files in compiler/report/page.
namespace page {
extern const std::string_view kHtml, kStyle, kScript;
}  // namespace page

}  // namespace smelt
