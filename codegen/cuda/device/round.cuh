// The kernel that rounds f32 elements to bf16 or f16. A state is an array that the runtime keeps between
// runs of a plan, such as a weight. The runtime runs this kernel for each state that is a 16-bit copy of an
// f32 state.
// Requires: nothing. The host's code replaces the word TYPE by bf16 or f16.

// Rounds `count` elements to nearest, ties to even. Each thread rounds one element.
extern "C" __global__ void __launch_bounds__(256)
    smelt_round_TYPE(const float* from, unsigned short* to, long long count) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  unsigned short rounded;
  asm("cvt.rn.TYPE.f32 %0, %1;" : "=h"(rounded) : "f"(from[i]));
  to[i] = rounded;
}
