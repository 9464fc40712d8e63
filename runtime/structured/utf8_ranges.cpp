#include "runtime/structured/utf8_ranges.h"

#include <string>

#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::structured {
namespace {

/// Returns the last code point of the range's beginning that differs from `range.first` only in ways that
/// ranges of bytes can express.
char32_t last_of_beginning(CodePointRange range) {
  for (const char32_t longest : {0x7F, 0x7FF, 0xFFFF})
    if (range.first <= longest && range.last > longest) range.last = longest;
  for (uint32_t bits = 6; range.first >= 0x80 && bits <= 18; bits += 6) {
    const char32_t low = (char32_t{1} << bits) - 1;
    if ((range.first | low) >= range.last) break;
    if ((range.first & low) != 0) return range.first | low;
    if ((range.last & low) != low) range.last = (range.last & ~low) - 1;
  }
  return range.last;
}

ByteRanges bytes_between(char32_t first, char32_t last) {
  std::string low, high;
  append_utf8(low, first);
  append_utf8(high, last);
  ByteRanges ranges;
  for (size_t i = 0; i < low.size(); ++i)
    ranges.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])});
  return ranges;
}

}  // namespace

std::vector<ByteRanges> utf8_ranges(const CodePointSet& set) {
  std::vector<ByteRanges> sequences;
  for (CodePointRange range : set.ranges())
    while (range.first <= range.last) {
      const char32_t last = last_of_beginning(range);
      sequences.push_back(bytes_between(range.first, last));
      range.first = last + 1;
    }
  return sequences;
}

}  // namespace smelt::structured
