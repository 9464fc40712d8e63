// The function `stored` for states with f32 elements, which need no rounding (for bf16: store_bf16.cuh).
// Requires: nothing. Comes before kernel.cuh, which calls it.


__device__ __forceinline__ float stored(float x) { return x; }
