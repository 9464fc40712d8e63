// LLVM code of Philox4x32-7 for scalars and vectors of counters. It draws the same bits as
// runtime/base/philox.h.
#pragma once

#include <array>

#include "codegen/cpu/scalar_math.h"

namespace smelt {

/// The inputs of Philox that are the same for all elements of one random instruction: the seed, the
/// instruction's random id, and the numbers of the step and micro-step. Every value is an i32 scalar.
struct PhiloxStream {
  llvm::Value *seed, *id, *step, *micro_step;
};

/// Emits calls of Philox. Each call makes four i32 words: 16 random bits for each of eight adjacent columns.
class PhiloxCode {
 public:
  using V = llvm::Value*;
  static constexpr int kGroups = 16;            // Philox calls that `fill` computes in one vector
  static constexpr int kColumns = 8 * kGroups;  // columns that `fill` draws

  explicit PhiloxCode(llvm::IRBuilder<>& builder) : b(builder) {}

  /// Returns the four i32 words for a row and a group of 8 columns. Row and group are scalars or vectors of
  /// i32.
  std::array<V, 4> words(const PhiloxStream& stream, V row, V group);
  /// Returns the 16 random bits of an element as an i32, or of one element per lane as a vector of i32.
  V bits(const PhiloxStream& stream, V row, V column);
  /// Stores the random bits of kColumns columns of a row as an array of u16 at the address `place`. `first`
  /// is the number of the first group of 8 columns, so the first column is 8 * first. `row` and `first` are
  /// i32 scalars.
  void fill(const PhiloxStream& stream, V row, V first, V place);

 private:
  /// The high and the low 32 bits of 64-bit products.
  struct Product {
    V high, low;
  };
  Product multiply(V x, uint32_t factor);
  Product multiply_vector(V x, uint32_t factor);
  V number(V like, uint32_t n);  // a constant of the type of `like`
  /// Returns the words of kGroups groups in the order of their columns: all four words of a group, then those
  /// of the next group.
  V interleave(const std::array<V, 4>& words);

  llvm::IRBuilder<>& b;
};

}  // namespace smelt
