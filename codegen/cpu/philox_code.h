// LLVM code of Philox4x32-7 for scalars and vectors of counters. It draws the same bits as
// runtime/base/philox.h.
#pragma once

#include <array>

#include "codegen/cpu/scalar_math.h"

namespace smelt {

/// The inputs of a random instruction's draws that are the same for all its elements; every value is an i32
/// scalar.
struct PhiloxStream {
  llvm::Value *seed, *id, *step, *micro_step;
};

class PhiloxCode {
 public:
  using V = llvm::Value*;
  static constexpr int kGroups = 16;            // Philox calls of one vector
  static constexpr int kColumns = 8 * kGroups;  // columns of these calls, with 16 bits each

  explicit PhiloxCode(llvm::IRBuilder<>& builder) : b(builder) {}

  /// Returns the four i32 words for a row and a group of 8 columns. Row and group are scalars or vectors of
  /// i32.
  std::array<V, 4> words(const PhiloxStream& stream, V row, V group);
  /// Returns the 16 random bits of an element as an i32, or of one element per lane as a vector of i32.
  V bits(const PhiloxStream& stream, V row, V column);
  /// Stores the numbers of kColumns adjacent columns of a row as u16, at the address `place`. The first of
  /// these columns is the first column of group `first`, which is 8 * first. `row` and `first` are i32
  /// scalars.
  void fill(const PhiloxStream& stream, V row, V first, V place);

 private:
  struct Product {
    V high, low;
  };
  Product multiply(V x, uint32_t factor);
  Product multiply_vector(V x, uint32_t factor);
  V number(V like, uint32_t n);
  V interleave(const std::array<V, 4>& words);

  llvm::IRBuilder<>& b;
};

}  // namespace smelt
