#include "runtime/tokenizers/unicode/unicode.h"

#include <utf8proc.h>

#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

/// Characters that nothing joins: line ends and other controls.
bool is_control(char32_t c) {
  const auto kind = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->boundclass;
  return kind == UTF8PROC_BOUNDCLASS_CR || kind == UTF8PROC_BOUNDCLASS_LF ||
         kind == UTF8PROC_BOUNDCLASS_CONTROL;
}

}  // namespace

uint32_t grapheme_end(std::string_view text, uint32_t at) {
  CodePoint c = code_point_at(text, at);
  utf8proc_int32_t state = 0;
  for (uint32_t end = at + c.bytes;; end += c.bytes) {
    if (end >= text.size()) return end;
    const CodePoint next = code_point_at(text, end);
    const bool ascii = c.value < 0x80 && next.value < 0x80;
    if (ascii && !(c.value == '\r' && next.value == '\n')) return end;
    const auto value = static_cast<utf8proc_int32_t>(next.value);
    const bool breaks =
        utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value), value, &state);
    if (breaks && !(is(next.value, kExtends) && !is_control(c.value))) return end;
    c = next;
  }
}

}  // namespace smelt
