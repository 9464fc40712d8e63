// A command for differential tests: reads lines of JSON {"template": TEXT, "variables": [OBJECT, ...]}, and
// writes for each a line with a list: {"text": TEXT} or {"error": MESSAGE, "kind": KIND} for each of the
// variables.
#include <iostream>

#include "runtime/templates/chat_template.h"

namespace {

using nlohmann::ordered_json;
using smelt::templates::ChatTemplate;

constexpr const char* kKinds[] = {"syntax", "unsupported", "runtime", "raised", "limit"};

ordered_json failure(const smelt::templates::TemplateError& error) {
  return {{"error", error.what()}, {"kind", kKinds[static_cast<int>(error.fault())]}};
}

ordered_json rendered(const ChatTemplate& parsed, const ordered_json& variables) {
  smelt::templates::RenderOptions options;
  options.clock = [](const std::string& format) { return "<" + format + ">"; };
  try {
    return {{"text", parsed.render(variables, options)}};
  } catch (const smelt::templates::TemplateError& error) {
    return failure(error);
  }
}

ordered_json answer(const ordered_json& request) {
  ordered_json out = ordered_json::array();
  try {
    const auto parsed = ChatTemplate::parse(request["template"].get_ref<const std::string&>(), "t");
    for (const auto& variables : request["variables"]) out.push_back(rendered(parsed, variables));
  } catch (const smelt::templates::TemplateError& error) {
    for (size_t i = 0; i < request["variables"].size(); ++i) out.push_back(failure(error));
  }
  return out;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(ordered_json::parse(line)) << std::endl;
  return 0;
}
