// The code of runtime/base/philox.h: Philox4x32-7 on scalars and on vectors of counters.
#pragma once

#include <array>

#include "codegen/cpu/scalar_math.h"

namespace smelt {

/// The inputs of a random instruction's draw; every value is an i32 scalar.
struct PhiloxStream {
  llvm::Value *seed, *id, *step, *micro_step;
};

class PhiloxCode {
 public:
  using V = llvm::Value*;
  static constexpr int kGroups = 16;            // calls side by side
  static constexpr int kColumns = 8 * kGroups;  // decisions they make

  explicit PhiloxCode(llvm::IRBuilder<>& builder) : b(builder) {}

  /// The four words for a row and a group of 8 columns; scalars or vectors of i32.
  std::array<V, 4> words(const PhiloxStream& stream, V row, V group);
  /// The decision of one element (or of one a lane), as i32.
  V bits(const PhiloxStream& stream, V row, V column);
  /// Writes the kColumns decisions from group `first` on (i32) to `place`, an array of u16.
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
