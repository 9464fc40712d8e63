// Ranges of code points as sequences of ranges of bytes in UTF-8.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/structured/code_points.h"

namespace smelt::structured {

struct ByteRange {
  uint8_t first, last;
};
using ByteRanges = std::vector<ByteRange>;  // one range per byte of the UTF-8 encoding

/// Returns sequences that together match exactly the encodings of the set's code points.
std::vector<ByteRanges> utf8_ranges(const CodePointSet& set);

}  // namespace smelt::structured
