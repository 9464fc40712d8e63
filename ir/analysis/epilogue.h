// What a GEMM of a library can do besides multiplying, read off the body of a matmul.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace smelt {

/// The accumulator plus one operand, rounded once to the result's type.
struct Epilogue {
  enum class Kind : uint8_t {
    row,     // a vector along the result's last dim: a bias
    matrix,  // of the result's shape: what the accumulator is added to
  } kind;
  Value* operand;  // of the result's type
};
/// Returns nothing for a matmul without a body, and for a body that does anything else.
std::optional<Epilogue> epilogue(const Node& matmul);

/// Whether the matmul multiplies single matrices (no batch, one letter summed over) with the columns as the
/// result's last dim: a bias can then be added to its rows.
bool has_rows(const Node& matmul);

}  // namespace smelt
