#include "runtime/templates/characters.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

struct Run {
  char32_t first;
  uint16_t properties;
};
struct Shift {
  char32_t first, last;
  int step, difference;
};
struct Spelled {
  char32_t from;
  const char32_t* to;
};

#include "runtime/templates/characters.inc"

struct Mapping {
  std::span<const Shift> shifts;
  std::span<const Spelled> texts;
};
constexpr Mapping kToUpper{kUpperShifts, kUpperTexts}, kToLower{kLowerShifts, kLowerTexts},
    kToTitle{kTitleShifts, kTitleTexts}, kToFold{kFoldShifts, kFoldTexts};

void append_mapped(std::u32string& out, char32_t c, const Mapping& mapping) {
  const auto text = std::ranges::lower_bound(mapping.texts, c, {}, &Spelled::from);
  if (text != mapping.texts.end() && text->from == c) {
    out += text->to;
    return;
  }
  const auto shift = std::ranges::lower_bound(mapping.shifts, c, {}, &Shift::last);
  const bool shifted =
      shift != mapping.shifts.end() && c >= shift->first && (c - shift->first) % shift->step == 0;
  out += shifted ? static_cast<char32_t>(static_cast<int>(c) + shift->difference) : c;
}

/// Whether the nearest code point before `at` that is not case-ignorable is cased.
bool cased_before(std::u32string_view text, size_t at) {
  while (at > 0 && has(text[at - 1], kCaseIgnorable)) --at;
  return at > 0 && has(text[at - 1], kCased);
}

bool cased_after(std::u32string_view text, size_t at) {
  size_t next = at + 1;
  while (next < text.size() && has(text[next], kCaseIgnorable)) ++next;
  return next < text.size() && has(text[next], kCased);
}

constexpr char32_t kSigma = 0x3A3;

void append_lower(std::u32string& out, std::u32string_view text, size_t at) {
  if (text[at] == kSigma) {
    out += cased_before(text, at) && !cased_after(text, at) ? U'\u03C2' : U'\u03C3';
  } else {
    append_mapped(out, text[at], kToLower);
  }
}

std::u32string mapped(std::u32string_view text, const Mapping& mapping) {
  std::u32string out;
  for (const char32_t c : text) append_mapped(out, c, mapping);
  return out;
}

}  // namespace

uint16_t properties_of(char32_t c) {
  return std::prev(std::ranges::upper_bound(kRuns, c, {}, &Run::first))->properties;
}

std::u32string decode(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    out += point.value;
    at += point.bytes;
  }
  return out;
}

std::string encode(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

std::u32string upper(std::u32string_view text) { return mapped(text, kToUpper); }
std::u32string casefold(std::u32string_view text) { return mapped(text, kToFold); }

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size(); ++at) append_lower(out, text, at);
  return out;
}

std::u32string title(std::u32string_view text) {
  std::u32string out;
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (inside) {
      append_lower(out, text, at);
    } else {
      append_mapped(out, text[at], kToTitle);
    }
    inside = has(text[at], kCased);
  }
  return out;
}

std::u32string capitalize(std::u32string_view text) {
  std::u32string out;
  if (!text.empty()) append_mapped(out, text[0], kToTitle);
  for (size_t at = 1; at < text.size(); ++at) append_lower(out, text, at);
  return out;
}

std::u32string swapcase(std::u32string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (has(text[at], kUpper)) {
      append_lower(out, text, at);
    } else if (has(text[at], kLower)) {
      append_mapped(out, text[at], kToUpper);
    } else {
      out += text[at];
    }
  }
  return out;
}

int digit_value(char32_t c) {
  // The decimal digits of a script are ten neighbours, but some blocks follow each other without a gap: five
  // sets of mathematical digits begin at U+1D7CE.
  if (c >= 0x1D7CE && c <= 0x1D7FF) return static_cast<int>((c - 0x1D7CE) % 10);
  const auto run = std::prev(std::ranges::upper_bound(kRuns, c, {}, &Run::first));
  return static_cast<int>((c - run->first) % 10);
}

bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace smelt::templates
