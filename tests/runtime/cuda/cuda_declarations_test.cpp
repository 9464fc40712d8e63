// What runtime/cuda declares for itself, against the toolkit's headers where they are.
#include <gtest/gtest.h>

#include "runtime/cuda/cublas_lt.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace smelt::cuda {

static_assert(kCompute32I == CUBLAS_COMPUTE_32I);
static_assert(kCompute32F == CUBLAS_COMPUTE_32F && kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA && kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(kScalePointerA == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER &&
              kScalePointerB == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(kEpilogueBias == CUBLASLT_EPILOGUE_BIAS && sizeof kEpilogueBias == sizeof(cublasLtEpilogue_t));
static_assert(kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              kBatchMode == CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
static_assert(kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(kReductionSchemes == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(kNoReductions == CUBLASLT_REDUCTION_SCHEME_NONE);
static_assert(kMinAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));

TEST(CudaDeclarations, DataTypes) {
  EXPECT_EQ(data_type(DType::f32), CUDA_R_32F);
  EXPECT_EQ(data_type(DType::f16), CUDA_R_16F);
  EXPECT_EQ(data_type(DType::bf16), CUDA_R_16BF);
  EXPECT_EQ(data_type(DType::f8e4m3), CUDA_R_8F_E4M3);
}

}  // namespace smelt::cuda
#endif

#if __has_include(<cuda.h>)
#include <cuda.h>

#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/driver.h"

namespace smelt::cuda {

#if CUDA_VERSION >= 12000
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
              LaunchAttribute::kDependent == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(DriverTensorMap) == sizeof(CUtensorMap) &&
              alignof(DriverTensorMap) >= alignof(CUtensorMap));
static_assert(DriverTensorMap::kF16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
              DriverTensorMap::kF32 == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 &&
              DriverTensorMap::kBf16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(CU_TENSOR_MAP_SWIZZLE_NONE == 0 && CU_TENSOR_MAP_SWIZZLE_32B == 1 &&
              CU_TENSOR_MAP_SWIZZLE_64B == 2 && CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(DriverTensorMap::kNoInterleaving == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              DriverTensorMap::kZeros == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE &&
              DriverTensorMap::kPromotion128 == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
static_assert(sizeof(WordOperation) == sizeof(CUstreamBatchMemOpParams) &&
              offsetof(WordOperation, word) == offsetof(CUstreamBatchMemOpParams, waitValue.address) &&
              offsetof(WordOperation, value) == offsetof(CUstreamBatchMemOpParams, waitValue.value) &&
              offsetof(WordOperation, flags) == offsetof(CUstreamBatchMemOpParams, writeValue.flags) &&
              WordOperation::kWait == CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
              WordOperation::kWrite == CU_STREAM_MEM_OP_WRITE_VALUE_32 &&
              WordOperation::kEqual == CU_STREAM_WAIT_VALUE_EQ &&
              WordOperation::kFlush == CU_STREAM_WAIT_VALUE_FLUSH);
static_assert(Copy2D::kHost == CU_MEMORYTYPE_HOST && Copy2D::kDevice == CU_MEMORYTYPE_DEVICE &&
              Copy2D::kUnified == CU_MEMORYTYPE_UNIFIED);
#endif
static_assert(kBlockThreads == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(kWarpThreads == CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(kMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kMemoryKilohertz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(kMemoryBits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(kL2Bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(kMultiprocessorThreads == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
static_assert(kCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kMultiprocessorSharedBytes == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(kMultiprocessorRegisters == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(kBlockSharedBytes == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

}  // namespace smelt::cuda
#endif
