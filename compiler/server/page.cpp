#include "compiler/server/page.h"

#include "compiler/report/html_parts.h"

namespace smelt::server {

const std::string& chat_page() {
  static const std::string kText =
      with_parts(page::kChatHtml,
                 {{"@STYLE@", std::string(page::kStyle)}, {"@SCRIPT@", std::string(page::kChatScript)}});
  return kText;
}

}  // namespace smelt::server
