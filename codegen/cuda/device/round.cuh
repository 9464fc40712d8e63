// The kernel that rounds f32 elements to bf16 or f16. The runtime runs it for states that are 16-bit copies
// of f32 states, such as weights. (A state is an array that the runtime keeps between runs of a plan.)
// Requires: nothing. C++ replaces the word TYPE by bf16 or f16.

// Rounds one of `count` elements per thread to the nearest 16-bit number; ties go to the even one.
extern "C" __global__ void __launch_bounds__(256)
    smelt_round_TYPE(const float* from, unsigned short* to, long long count) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  unsigned short rounded;
  asm("cvt.rn.TYPE.f32 %0, %1;" : "=h"(rounded) : "f"(from[i]));
  to[i] = rounded;
}
