// The kernel that rounds float32 numbers to a type of 16 bits.
// Requires: nothing. C++ replaces the word TYPE by bf16 or f16.

// An element a thread, to the nearest, ties to even.
extern "C" __global__ void __launch_bounds__(256)
    smelt_round_TYPE(const float* from, unsigned short* to, long long count) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  unsigned short rounded;
  asm("cvt.rn.TYPE.f32 %0, %1;" : "=h"(rounded) : "f"(from[i]));
  to[i] = rounded;
}
