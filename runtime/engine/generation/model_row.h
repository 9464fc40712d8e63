// Inputs of a model for the prediction of the next token of one row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct ModelRow {
  std::vector<int32_t> tokens;      // input of the decoder
  std::span<const int32_t> source;  // input of the encoder; empty without an encoder
  std::span<const int32_t> mask;    // by token of the source, 0: padding; empty: no padding
};

}  // namespace smelt
