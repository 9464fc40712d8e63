// GEMMs of matrices stored in 16 or 8 bits: widened into f32 scratch, multiplied there, rounded on the way
// back.
#pragma once

#include <optional>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cpu/small_m.h"

namespace smelt {

/// Which of the two operands is stored as i8, if any.
struct ByteOperands {
  bool a = false, b = false;
};

/// A GEMM of float matrices of any storage type; f32 matrices are used in place. Sums are f32.
class TypedGemm {
 public:
  TypedGemm() = default;
  TypedGemm(const GemmSizes& sizes, DType operands, DType result, const std::string& place,
            ByteOperands bytes = {});
  /// A bias has the result's type and one element per column; the result's columns are then contiguous.
  void run(const void* a, const void* b, void* c, const void* bias = nullptr) const;

 private:
  /// Returns the number of elements from the first to the last that a matrix touches, over all batches.
  int64_t reach(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns,
                int64_t GemmSizes::Batch::* stride) const;
  static const float* widened(const void* from, DType dtype, int64_t count, std::vector<float>& scratch);
  void multiply(const void* a, const void* b, float* c) const;
  void read_result(const void* c, std::vector<float>& scratch) const;
  void add_bias(const void* bias, float* c) const;
  void write_result(const std::vector<float>& scratch, void* c) const;

  GemmSizes sizes_;
  DType operands_ = DType::f32, result_ = DType::f32;
  ByteOperands bytes_;
  std::optional<SmallM> few_;  // by a matrix of bytes, which it reads as they are
  PreparedGemm gemm_;
};

}  // namespace smelt
