// Reply to GET /: an HTML page to talk to the model in a browser. It loads nothing from other servers.
#pragma once

#include <string>
#include <string_view>

namespace smelt::server {

/// Returns the HTML text of the page, with its style and script.
const std::string& chat_page();

/// Contents of the files in compiler/server/page, which cmake/embed.cmake embeds in this library.
namespace page {
extern const std::string_view kStyle, kChatHtml, kChatScript;
}  // namespace page

}  // namespace smelt::server
