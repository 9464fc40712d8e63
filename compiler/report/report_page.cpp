#include "compiler/report/report_page.h"

#include "compiler/report/html_parts.h"
#include "compiler/report/report_data.h"

namespace smelt {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  return result;
}

/// Inside <script>, "</script>" would end it and "<!--" begin another state: no "<" is left as it is.
std::string data_text(const Json& data) {
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace), result;
  result.reserve(text.size() + text.size() / 50);
  for (const char c : text)
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  return result;
}

std::string page_of(std::string_view html, std::string_view script, const std::string& data,
                    const std::string& title, bool is_live = false) {
  return with_parts(html, {{"@TITLE@", escaped(title)},
                           {"@CONNECT@", is_live ? "; connect-src 'self'" : ""},
                           {"@LIVE@", is_live ? "yes" : ""},
                           {"@STYLE@", std::string(page::kStyle)},
                           {"@SCRIPT@", std::string(script)},
                           {"@DATA@", data}});
}

}  // namespace

std::string report_page(const Json& data, const std::string& title) {
  return page_of(page::kPlanHtml, page::kPlanScript, data_text(compact(data)), title);
}

std::string run_page(const Json& data, const std::string& title) {
  return page_of(page::kRunHtml, page::kRunScript, data_text(compact(data)), title);
}

std::string live_run_page(const std::string& title) {
  return page_of(page::kRunHtml, page::kRunScript, "null", title, true);
}

std::string live_run_text(const Json& data) { return data_text(compact(data)); }

}  // namespace smelt
