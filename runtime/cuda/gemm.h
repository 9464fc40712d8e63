// GEMMs by cuBLASLt ("the library"). Operands have strides instead of transpose flags. A batch of matrices is
// one call if the library supports its strides.
//
// The library is column-major. If the rows of the result are contiguous, the library computes C^T = B^T A^T.
// If a GEMM has new sizes, several algorithms are measured, and the fastest is stored for later GEMMs
// (gemm_choices.h).
//
// A GEMM in order (GemmStep::in_order) has a kernel of Smelt that computes it. The library is asked only for
// algorithms without split k, and only algorithms whose results have the bits of this kernel are used.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/cublas_lt.h"
#include "runtime/cuda/gemm_choices.h"
#include "runtime/cuda/launch.h"

namespace smelt::cuda {

/// C[m,n] = alpha * sum_k A[m,k] B[k,n] + beta * C[m,n] (+ bias[n]), for all indices of the batch axes.
/// Strides are in elements.
struct GemmSizes {
  struct Matrix {
    int64_t row_stride = 0, column_stride = 0;  // one of the two is 1
  };
  struct Batch {
    int64_t extent = 1, a = 0, b = 0, c = 0;  // a, b, c: strides along this axis in A, B and C
    bool reduced = false;                     // the products of this axis are added to the same C; c is 0
  };
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  std::vector<Batch> batch = {};
  DType dtype = DType::f32, result_dtype = DType::f32;
  bool tf32 = false;      // f32 operands may be rounded to 10 bits of mantissa
  bool in_order = false;  // every element is a chain (GemmStep::in_order)
  bool padded = false;    // zeros may be written after lines along k (GemmStep::padded)
};

/// Returns the sizes of the transposed product, C^T = B^T A^T.
GemmSizes transposed(const GemmSizes& sizes);

/// Description of one call of the library, whose matrices are column-major. A pitch is the distance between
/// columns, and a stride the distance between matrices of a batch, in elements. `by_pointers`: the batch is
/// given as lists of addresses, and the strides are not used.
struct GemmProblem {
  DType dtype = DType::f32, result_dtype = DType::f32;
  bool transpose_a = false, transpose_b = false, accumulates = false, by_pointers = false, has_bias = false;
  bool tf32 = false, in_order = false;
  int64_t m = 0, n = 0, k = 0, a_pitch = 0, b_pitch = 0, c_pitch = 0;
  int64_t batch = 1, a_stride = 0, b_stride = 0, c_stride = 0;
  int64_t alignment = 256;  // in bytes; divides the addresses of all matrices. PreparedGemm uses at most 16

  /// Returns whether sums are i32, as those of i8 are: the factors alpha and beta are then i32, too.
  bool is_whole() const { return result_dtype == DType::i32; }
  /// Returns the name of the problem's bucket. Problems of one bucket can use the same algorithm: they have
  /// the same types, flags and alignments of addresses and pitches, and similar sizes (size_bucket in
  /// algorithm_choice.h).
  std::string bucket() const;
  /// Returns the key under which the algorithm is stored: the bucket. For problems of at least 2^29
  /// multiplications, it also has the exact sizes.
  GemmKey key() const;
};

/// Addresses that a GEMM reads besides its matrices; null: none. `scales`: addresses of f32 numbers that
/// products of f8e4m3 are multiplied by.
struct GemmExtras {
  DevicePointer bias = 0;
  std::array<DevicePointer, 2> scales = {};
};

/// A GEMM of fixed sizes at fixed addresses.
class PreparedGemm {
 public:
  PreparedGemm() = default;
  /// Makes the descriptors. `place` describes the step for messages. Throws Error with `place` if the library
  /// does not support the strides, or if a bias is combined with a reduced batch axis. Sums can have no
  /// terms, for example if k = 0. In this case, also throws Error if there is a bias, or if beta is neither 0
  /// nor 1.
  PreparedGemm(const Device& device, const GemmSizes& sizes, DevicePointer a, DevicePointer b,
               DevicePointer c, const std::string& place, const GemmExtras& extras = {});

  /// Adds a kernel of Smelt that computes the same product. `choose` measures it like the library's
  /// algorithms. If it was the fastest, `run` launches it. A GEMM in order needs it: an algorithm of the
  /// library must have its bits, and it runs if nothing can be measured.
  void consider(KernelLaunch own) { own_ = std::move(own); }
  /// Returns the kernel that was added; null if there is none.
  KernelLaunch* considered() { return own_ ? &own_ : nullptr; }

  /// Launches the GEMM. Requires: `choose` has been called. `workspace` is a block of kGemmWorkspace bytes.
  void run(Stream stream, DevicePointer workspace);
  /// Sets the algorithm to the one in `choices`, or else to the fastest by measurement, which is added to
  /// `choices`. If the algorithm in `choices` does not support these sizes, the library's first proposal is
  /// used, or if the GEMM is in order, the kernel of `consider`. Measuring runs the GEMM and waits for the
  /// device, so it is not possible in a capture. Does nothing if the algorithm is set.
  void choose(Stream stream, DevicePointer workspace, GemmChoices& choices);
  bool chosen() const { return chosen_; }
  /// Returns the number of library calls; 0 if the result has no elements or its sums have no terms.
  int64_t calls() const { return static_cast<int64_t>(calls_.size()); }

 private:
  struct Call {
    DevicePointer a = 0, b = 0, c = 0;
    float beta = 0;
  };
  /// Memory that `run` sets to zero: results whose sums have no terms (a result matrix, or one column of it),
  /// or the ends of lines.
  struct Zeros {
    DevicePointer to = 0;
    size_t bytes = 0;
    size_t lines = 1, pitch = 0;  // the distance of lines in bytes
  };
  void describe(const GemmExtras& extras);
  int compute_type() const;  // cublasComputeType_t
  /// Extends lines of f8e4m3 and i8 to a multiple of GemmStep::kLineElements, which the library requires, and
  /// notes what follows the k-th element to be cleared before each run.
  void pad_lines(GemmSizes& sizes, DevicePointer a, DevicePointer b);
  void note_zeros(const std::vector<GemmSizes::Batch>& outer, DevicePointer c);
  /// Sets what is in zeros_ to zero.
  void clear(Stream stream) const;
  void set_batch(const LtLayout& layout, int64_t stride) const;
  void make_calls(const GemmSizes& sizes, DevicePointer a, DevicePointer b, DevicePointer c);
  void make_pointers(const std::vector<Call>& matrices);
  int launch(const Call& call, const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  std::vector<LtHeuristic> candidates(int wanted) const;
  /// Returns the library's proposals that need at most `workspace` bytes.
  std::vector<LtHeuristic> proposals(int wanted, uint64_t workspace) const;
  /// Returns the algorithm that is used without a measurement.
  LtAlgorithm unmeasured() const;
  /// Returns the fastest algorithm. Returns nothing if the results show nothing about the order of their
  /// sums.
  std::optional<LtAlgorithm> fastest(Stream stream, DevicePointer workspace) const;
  /// Launches all calls; returns the first status that is not 0, or 0.
  int try_all(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  bool is_possible(const LtAlgorithm& algorithm) const;
  struct Timed {
    LtAlgorithm algorithm;
    double seconds = 0;
  };
  double time(const LtAlgorithm& algorithm, int count, Stream stream, DevicePointer workspace) const;
  double time_alone(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const;
  LtAlgorithm fastest_of(std::vector<Timed> timed, Stream stream, DevicePointer workspace) const;
  /// Returns the result of an algorithm as some columns. Restores C if it is added to.
  std::vector<float> result_of(const LtAlgorithm& algorithm, DevicePointer kept, Stream stream,
                               DevicePointer workspace) const;
  void restore(DevicePointer kept, Stream stream) const;
  /// Returns some columns of the results as floats, to compare the results of algorithms.
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
  DeviceBlock pointers_;  // addresses of all matrices A, B and C of a batch by pointers, else empty
  LtDescriptor descriptor_;
  LtLayout a_, b_, c_;
  LtAlgorithm algorithm_;
  bool chosen_ = false;
};

/// Bytes of scratch memory that the library may use, except for a GEMM in order. All GEMMs of one stream
/// share it.
inline constexpr int64_t kGemmWorkspace = int64_t{32} << 20;

}  // namespace smelt::cuda
