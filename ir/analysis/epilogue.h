// Library epilogue of a matmul, recognised from its body.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Accumulator plus one operand, rounded once to the result's type.
struct Epilogue {
  enum class Kind : uint8_t {
    row,     // a vector along the result's last dim: a bias
    matrix,  // of the result's shape: the accumulator is added to it
  } kind;
  Value* operand;  // of the result's type
};
/// Returns nothing for a matmul without a body, and for a body that does anything else.
std::optional<Epilogue> epilogue(const Node& matmul);

/// Returns whether the matmul multiplies single matrices (no batch, one letter summed over) with the columns
/// as the result's last dim: a bias can then be added to its rows.
bool has_rows(const Node& matmul);

}  // namespace smelt
