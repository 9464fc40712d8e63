// Any bytes as a model's text with calls of tools: the same result in pieces as at once, nothing of the text
// lost, and no time that grows faster than the text. The first byte chooses the format, the second the
// pieces.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/tools/tool_parser.h"

namespace smelt::tools {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

ParsedPiece parsed(const ToolFormat& format, std::string_view text, size_t piece) {
  ToolParser parser(format, [&](size_t index) { return call_id(format, "1", 0, index); });
  ParsedPiece all;
  for (size_t at = 0; at < text.size(); at += piece) append(all, parser.push(text.substr(at, piece)));
  append(all, parser.finish());
  require(all.calls.size() == parser.calls());
  return all;
}

/// Finds the bytes of `part`, in their order, in the text.
bool is_subsequence(std::string_view part, std::string_view text) {
  size_t found = 0;
  for (const char byte : text)
    if (found < part.size() && byte == part[found]) ++found;
  return found == part.size();
}

void check(const ToolFormat& format, std::string_view text, const ParsedPiece& all) {
  require(is_subsequence(all.content, text));
  if (all.calls.empty()) require(all.content == text);
  size_t bytes = all.content.size();
  for (size_t i = 0; i < all.calls.size(); ++i) {
    const CallPiece& call = all.calls[i];
    require(call.index == i && !call.name.empty() && call.id == call_id(format, "1", 0, i));
    require(call.arguments.starts_with('{') && text.find(call.arguments) != text.npos);
    bytes += call.arguments.size();
  }
  require(bytes <= text.size());
}

void require_equal(const ParsedPiece& a, const ParsedPiece& b) {
  require(a.content == b.content && a.calls.size() == b.calls.size());
  for (size_t i = 0; i < a.calls.size(); ++i)
    require(a.calls[i].name == b.calls[i].name && a.calls[i].arguments == b.calls[i].arguments);
}

}  // namespace
}  // namespace smelt::tools

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt::tools;
  if (size < 2) return 0;
  const ToolFormat& format = tool_formats()[data[0] % tool_formats().size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ParsedPiece whole = parsed(format, text, text.size() + 1);
  check(format, text, whole);
  require_equal(whole, parsed(format, text, 1));
  require_equal(whole, parsed(format, text, data[1] % 16U + 2));
  return 0;
}
