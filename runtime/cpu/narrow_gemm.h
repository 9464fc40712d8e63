// GEMMs of matrices stored in 16 bits: widened into f32 scratch, multiplied there, rounded on the way
// back.
#pragma once

#include <vector>

#include "runtime/cpu/gemm.h"
#include "runtime/dtype.h"

namespace smelt {

/// A GEMM of float matrices of any storage type; f32 matrices are used in place. Sums are f32.
class TypedGemm {
 public:
  TypedGemm() = default;
  TypedGemm(const GemmSizes& sizes, DType operands, DType result, const std::string& place);
  /// A bias has the result's type and one element per column; the result's columns are then contiguous.
  void run(const void* a, const void* b, void* c, const void* bias = nullptr) const;

 private:
  /// The number of elements from the first to the last that a matrix touches, over all batches.
  int64_t reach(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns,
                int64_t GemmSizes::Batch::* stride) const;
  const float* widened(const void* from, int64_t count, std::vector<float>& scratch) const;
  void read_result(const void* c, std::vector<float>& scratch) const;
  void add_bias(const void* bias, float* c) const;
  void write_result(const std::vector<float>& scratch, void* c) const;

  GemmSizes sizes_;
  DType operands_ = DType::f32, result_ = DType::f32;
  PreparedGemm gemm_;
};

}  // namespace smelt
