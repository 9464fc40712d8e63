// GEMMs on cuBLASLt: strides instead of transposes, and batches in one call where the library supports it.
//
// The library is column-major: a matrix with contiguous rows is given to it transposed, and where that is the
// result, the operands are swapped. An algorithm is chosen by timing when sizes are first seen
// (gemm_choices.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/cublas_lt.h"
#include "runtime/cuda/gemm_choices.h"
#include "runtime/cuda/launch.h"

namespace smelt::cuda {

/// C[m,n] = alpha * sum_k A[m,k] B[k,n] + beta * C[m,n] (+ bias[n]), for all indices of the batch axes; in
/// elements.
struct GemmSizes {
  struct Matrix {
    int64_t row_stride = 0, column_stride = 0;  // one of the two is 1
  };
  struct Batch {
    int64_t extent = 1, a = 0, b = 0, c = 0;
    bool reduced = false;  // adds into the same C; c is 0
  };
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  std::vector<Batch> batch = {};
  DType dtype = DType::f32, result_dtype = DType::f32;
  bool tf32 = false;  // operands of f32 may be read with 10 bits of mantissa
};

/// C^T = B^T A^T.
GemmSizes transposed(const GemmSizes& sizes);

/// The problem given to the library: one call's matrices, column-major.
struct GemmProblem {
  DType dtype = DType::f32, result_dtype = DType::f32;
  bool transpose_a = false, transpose_b = false, accumulates = false, by_pointers = false, has_bias = false;
  bool tf32 = false;
  int64_t m = 0, n = 0, k = 0, a_pitch = 0, b_pitch = 0, c_pitch = 0;
  int64_t batch = 1, a_stride = 0, b_stride = 0, c_stride = 0;
  int64_t alignment = 256;  // in bytes; divides the addresses of all matrices

  /// Returns the key of all problems that one algorithm serves: sizes rounded up to a quarter of a power of
  /// two.
  std::string bucket() const;
  /// The bucket and, for large problems, the exact sizes.
  GemmKey key() const;
};

/// A matmul ready to run at fixed addresses.
class PreparedGemm {
 public:
  PreparedGemm() = default;
  /// Throws Error with `place` for strides that the library has no call for.
  PreparedGemm(const Device& device, const GemmSizes& sizes, DevicePointer a, DevicePointer b,
               DevicePointer c, const std::string& place, DevicePointer bias = 0);

  /// Adds an alternative kernel, which is measured against the library's algorithms and used if it is faster.
  void consider(KernelLaunch own) { own_ = std::move(own); }
  /// Returns the alternative kernel; null if there is none.
  KernelLaunch* considered() { return own_ ? &own_ : nullptr; }

  /// Launches the calls. The first time it chooses the algorithm, which waits for the device; call
  /// `choose` before a capture.
  void run(Stream stream, DevicePointer workspace);
  void choose(Stream stream, DevicePointer workspace, GemmChoices& choices);
  bool chosen() const { return chosen_; }
  int64_t calls() const { return static_cast<int64_t>(calls_.size()); }

 private:
  struct Call {
    DevicePointer a = 0, b = 0, c = 0;
    float beta = 0;
  };
  /// The result of an empty sum.
  struct Zeros {
    DevicePointer to = 0;
    size_t bytes = 0;
  };
  void describe(DevicePointer bias);
  void note_zeros(const std::vector<GemmSizes::Batch>& outer, DevicePointer c);
  void set_batch(const LtLayout& layout, int64_t stride) const;
  void make_calls(const GemmSizes& sizes, DevicePointer a, DevicePointer b, DevicePointer c);
  void make_pointers(const std::vector<Call>& matrices);
  int launch(const Call& call, const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  std::vector<LtHeuristic> candidates(int wanted) const;
  LtAlgorithm fastest(Stream stream, DevicePointer workspace) const;
  int try_all(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  bool is_possible(const LtAlgorithm& algorithm) const;
  struct Timed {
    LtAlgorithm algorithm;
    double seconds = 0;
  };
  double time(const LtAlgorithm& algorithm, int count, Stream stream, DevicePointer workspace) const;
  double time_alone(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  LtAlgorithm fastest_of(std::vector<Timed> timed, Stream stream, DevicePointer workspace) const;
  std::vector<float> sample(Stream stream) const;
  int64_t result_bytes() const;

  const Device* device_ = nullptr;
  LtHandleTag* blas_ = nullptr;
  GemmProblem problem_;
  float alpha_ = 1;
  std::vector<Call> calls_;
  std::vector<Zeros> zeros_;
  DevicePointer first_result_ = 0;
  KernelLaunch own_;
  DeviceBlock pointers_;  // of A, B and C, one a matrix, where a batch is no single stride
  LtDescriptor descriptor_;
  LtLayout a_, b_, c_;
  LtAlgorithm algorithm_;
  bool chosen_ = false;
};

/// The memory that the library may use besides its operands, shared by every GEMM of a stream.
inline constexpr int64_t kGemmWorkspace = int64_t{32} << 20;

}  // namespace smelt::cuda
