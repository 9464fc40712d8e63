// A report as one self-contained HTML file.
#pragma once

#include <string>

#include "runtime/system/json_text.h"

namespace smelt {

/// The page (compiler/report/page/, part of this library) around its data.
std::string report_page(const Json& data, const std::string& title);

/// Made by cmake/embed_page.cmake of the files in compiler/report/page.
namespace page {
extern const char* const kHtml;
extern const char* const kStyle;
extern const char* const kScript;
}  // namespace page

}  // namespace smelt
