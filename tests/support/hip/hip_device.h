// HIP's functions and variables that printed kernels use, for Clang without the headers and libraries of
// ROCm. Functions of the math library are declared only, so that code is generated and not linked.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define HIP_FUNCTION static __device__ __forceinline__

// ---- numbers of threads

struct ThreadX {
  __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); }
};
struct BlockX {
  __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); }
};
struct BlockY {
  __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_y(); }
};
struct GridX {
  __device__ operator unsigned() const {
    return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
  }
};
struct ThreadIndex {
  ThreadX x;
};
struct BlockIndex {
  BlockX x;
  BlockY y;
};
struct GridSize {
  GridX x;
};
#define threadIdx ThreadIndex()
#define blockIdx BlockIndex()
#define gridDim GridSize()

// ---- threads

HIP_FUNCTION void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
HIP_FUNCTION void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
HIP_FUNCTION unsigned atomicInc(unsigned* at, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(at, last, __ATOMIC_RELAXED, "agent");
}

/// Lanes exchange words of 32 bits.
HIP_FUNCTION int shuffled_word(int word, int distance, int width) {
  const int lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  const int other = lane ^ distance;
  return __builtin_amdgcn_ds_bpermute((other / width == lane / width ? other : lane) * 4, word);
}
template <typename T>
HIP_FUNCTION T __shfl_xor(T value, int distance, int width) {
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof value);
  for (int& word : words) word = shuffled_word(word, distance, width);
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

// ---- numbers

HIP_FUNCTION float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
HIP_FUNCTION unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
HIP_FUNCTION int __double2loint(double x) { return (int)__builtin_bit_cast(long long, x); }
HIP_FUNCTION float __fdividef(float a, float b) { return a / b; }
HIP_FUNCTION float fabsf(float x) { return __builtin_fabsf(x); }
HIP_FUNCTION float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
HIP_FUNCTION float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HIP_FUNCTION float sqrtf(float x) { return __builtin_sqrtf(x); }
HIP_FUNCTION float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
HIP_FUNCTION float floorf(float x) { return __builtin_floorf(x); }
HIP_FUNCTION float rintf(float x) { return __builtin_rintf(x); }
HIP_FUNCTION float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
HIP_FUNCTION double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
HIP_FUNCTION double rint(double x) { return __builtin_rint(x); }
extern "C" {
__device__ float expf(float), exp2f(float), expm1f(float), logf(float), log1pf(float), tanhf(float),
    erff(float), erfcf(float);
}
