// Epilogue of a matmul that a library call (cuBLAS) can compute, recognised from the matmul's body.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Epilogue that adds one operand to the f32 accumulator, and rounds the sum once to the result's type.
struct Epilogue {
  enum class Kind : uint8_t {
    row,     // the operand is a vector along the result's last dim, such as a bias
    matrix,  // the operand has the result's shape
  } kind;
  Value* operand;  // has the result's element type
};
/// Returns the epilogue of a matmul. Returns nothing if the matmul has no body, or a body that computes
/// anything else.
std::optional<Epilogue> epilogue(const Node& matmul);

/// Returns whether a library call can add a bias to each row of the result. This is so if the matmul has no
/// batch dims and sums over one dim, and if the result's last dim is a dim of the second operand.
bool has_rows(const Node& matmul);

}  // namespace smelt
