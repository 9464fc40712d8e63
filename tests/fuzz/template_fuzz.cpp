// Any bytes as a chat template: a TemplateError, or a text within the limits, which a second rendering
// repeats.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/templates/chat_template.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

const nlohmann::ordered_json& variables() {
  static const auto json = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "user", "content": " Hé 日 "}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}],
    "tools": [{"name": "f", "arguments": {"a": [1, 2.5, null, true]}}], "n": 7, "s": "a,b\nc", "xs": [3, 1, 2]})");
  return json;
}

std::string rendered(const ChatTemplate& parsed) {
  RenderOptions options;
  options.limits = {.steps = 100'000, .bytes = 1u << 16, .depth = 200};
  options.clock = [](const std::string& format) { return format; };
  try {
    return parsed.render(variables(), options);
  } catch (const TemplateError& error) {
    return error.what();
  }
}

void render_twice(std::string_view source) {
  try {
    const auto parsed = ChatTemplate::parse(source);
    const std::string text = rendered(parsed);
    require(is_utf8(text) && text == rendered(parsed));
  } catch (const TemplateError&) {
  }
}

}  // namespace
}  // namespace smelt::templates

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  smelt::templates::render_twice({reinterpret_cast<const char*>(data), size});
  return 0;
}
