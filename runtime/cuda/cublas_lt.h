// cuBLASLt, loaded when the first GEMM needs it. Each device has its own handle (Device::blas). Types and
// constants repeat those of cublasLt.h, so that building needs no CUDA toolkit. Tests compare them with
// cublasLt.h on machines that have it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

struct LtDescriptorTag;
struct LtLayoutTag;
struct LtPreferenceTag;

/// Description of an algorithm (cublasLtMatmulAlgo_t), which is valid for one version of the library.
struct LtAlgorithm {
  std::array<uint64_t, 8> data{};
  bool operator==(const LtAlgorithm&) const = default;
};

/// One result of MatmulAlgoGetHeuristic or MatmulAlgoCheck (cublasLtMatmulHeuristicResult_t). `state` is 0 if
/// the algorithm can run.
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_bytes = 0;
  int state = 0;
  float waves = 0;  // of thread blocks; 1: they occupy the GPU once
  std::array<int, 4> reserved{};
};

/// Functions of the library under their names without the prefix "cublasLt".
struct CublasLt {
  using Code = int;  // cublasStatus_t: 0 is success
  Code (*Create)(LtHandleTag** handle);
  Code (*MatmulDescCreate)(LtDescriptorTag** descriptor, int compute_type, int scale_type);
  Code (*MatmulDescDestroy)(LtDescriptorTag* descriptor);
  Code (*MatmulDescSetAttribute)(LtDescriptorTag* descriptor, int attribute, const void* value, size_t bytes);
  Code (*MatrixLayoutCreate)(LtLayoutTag** layout, int type, uint64_t rows, uint64_t columns, int64_t pitch);
  Code (*MatrixLayoutDestroy)(LtLayoutTag* layout);
  Code (*MatrixLayoutSetAttribute)(LtLayoutTag* layout, int attribute, const void* value, size_t bytes);
  Code (*MatmulPreferenceCreate)(LtPreferenceTag** preference);
  Code (*MatmulPreferenceDestroy)(LtPreferenceTag* preference);
  Code (*MatmulPreferenceSetAttribute)(LtPreferenceTag* preference, int attribute, const void* value,
                                       size_t bytes);
  Code (*MatmulAlgoGetHeuristic)(LtHandleTag* handle, LtDescriptorTag* descriptor, LtLayoutTag* a,
                                 LtLayoutTag* b, LtLayoutTag* c, LtLayoutTag* d, LtPreferenceTag* preference,
                                 int wanted, LtHeuristic* results, int* found);
  Code (*MatmulAlgoCheck)(LtHandleTag* handle, LtDescriptorTag* descriptor, LtLayoutTag* a, LtLayoutTag* b,
                          LtLayoutTag* c, LtLayoutTag* d, const LtAlgorithm* algorithm, LtHeuristic* result);
  Code (*Matmul)(LtHandleTag* handle, LtDescriptorTag* descriptor, const void* alpha, const void* a,
                 LtLayoutTag* a_layout, const void* b, LtLayoutTag* b_layout, const void* beta, const void* c,
                 LtLayoutTag* c_layout, void* d, LtLayoutTag* d_layout, const LtAlgorithm* algorithm,
                 void* workspace, size_t workspace_bytes, Stream stream);
  size_t (*GetVersion)();

  std::string path;  // file of the library
};

// cublasComputeType_t
inline constexpr int kCompute32F = 68, kCompute32I = 72, kComputeTf32 = 77;
// cublasLtMatmulDescAttributes_t
inline constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8, kScalePointerA = 17,
                     kScalePointerB = 18;
// cublasLtEpilogue_t: adds bias[row] to the result, which is column-major
inline constexpr uint32_t kEpilogueBias = 4;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kBatchCount = 5, kBatchStride = 6, kBatchMode = 8;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int kMaxWorkspace = 1, kReductionSchemes = 3, kMinAlignmentA = 5;
// cublasLtReductionScheme_t: partial sums of split k are not allowed
inline constexpr uint32_t kNoReductions = 0;

/// Returns the cudaDataType of f32, f16, bf16, f8e4m3, i8 or i32. Throws Error for other types.
int data_type(DType dtype);

/// Returns the functions of the library, which the first call loads. Throws Error (unavailable) if the
/// library is not on this machine.
const CublasLt& cublas_lt();
/// File and version of the library; version 130100 is 13.1.0.
struct CublasLtInfo {
  std::string path;
  size_t version = 0;
};
/// Returns the file and version. Loads the library, but creates no handle. Throws as cublas_lt does.
CublasLtInfo cublas_lt_info();
/// Throws Error if `code` is not 0; `what` names the call in the message.
void check_blas(CublasLt::Code code, const std::string& what);

inline void end_descriptor(LtDescriptorTag* d) { cublas_lt().MatmulDescDestroy(d); }
inline void end_layout(LtLayoutTag* l) { cublas_lt().MatrixLayoutDestroy(l); }
inline void end_preference(LtPreferenceTag* p) { cublas_lt().MatmulPreferenceDestroy(p); }
using LtDescriptor = Owner<LtDescriptorTag*, end_descriptor>;
using LtLayout = Owner<LtLayoutTag*, end_layout>;
using LtPreference = Owner<LtPreferenceTag*, end_preference>;

}  // namespace smelt::cuda
