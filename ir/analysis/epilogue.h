// What a library's matrix multiplication can do beside it, read off the body of a matmul.
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
/// Nothing for a matmul without a body, and for a body that does anything else.
std::optional<Epilogue> epilogue(const Node& matmul);

/// A single multiplication of matrices (no batch, one letter summed over) whose columns are the result's last
/// dim: its rows may get a bias.
bool has_rows(const Node& matmul);

}  // namespace smelt
