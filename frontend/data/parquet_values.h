// Decoders of the encodings of Parquet. The data are untrusted: every decoder checks lengths against the
// bytes that are left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/parquet_format.h"

namespace smelt::parquet {

/// Thrown by decoders; the reader of the column adds the file and the column.
struct DamagedPage {
  std::string what;
};

/// Decodes `count` integers of `bits` bits each: runs of equal values, and bit-packed groups of eight.
std::vector<uint32_t> read_rle(std::string_view data, int bits, int64_t count);

/// Decodes DELTA_BINARY_PACKED, and returns the integers; `used` is set to the number of bytes that they
/// take.
std::vector<int64_t> read_deltas(std::string_view data, int64_t most, size_t& used);

/// Decoded values of a page or a dictionary: numbers, or texts.
struct Values {
  std::vector<int64_t> integers = {};
  std::vector<double> reals = {};
  std::vector<std::string> texts = {};
  int64_t size() const {
    return static_cast<int64_t>(integers.size() + reals.size() + texts.size());  // one of them has values
  }
};

/// Decodes `count` values of a leaf that are not null.
Values read_values(const SchemaNode& leaf, Encoding encoding, std::string_view data, int64_t count);

}  // namespace smelt::parquet
