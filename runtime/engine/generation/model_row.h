// Inputs of a model for predicting one more token of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct ModelRow {
  std::vector<int32_t> tokens;
  std::span<const int32_t> source;  // what the encoder reads, where there is one
  std::span<const int32_t> mask;    // of the source, 0: padding; empty: all are seen
};

}  // namespace smelt
