// Epilogue of a matmul that a library call (cuBLAS) can compute, recognised from the matmul's body.
#pragma once

#include <optional>

#include "ir/graph/graph.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Epilogue that multiplies the f32 accumulator by scalars, adds one operand, and rounds once to the result's
/// type. It does at least one of the two.
struct Epilogue {
  enum class Kind : uint8_t {
    none,    // nothing is added
    row,     // the operand is a vector along the result's last dim, such as a bias
    matrix,  // the operand has the result's shape
  } kind = Kind::none;
  Value* operand = nullptr;             // has the result's element type; null for `none`
  llvm::SmallVector<Value*, 2> scales;  // f32 scalars, at most kMostScales
};
inline constexpr size_t kMostScales = 2;
/// Returns the epilogue of a matmul. Returns nothing if the matmul has no body, or a body that computes
/// anything else.
std::optional<Epilogue> epilogue(const Node& matmul);

/// Returns whether a library call can add a bias to each row of the result. This is so if the matmul has no
/// batch dims and sums over one dim, and if the result's last dim is a dim of the second operand.
bool has_rows(const Node& matmul);

}  // namespace smelt
