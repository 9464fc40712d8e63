// The function `stored`, which rounds a number to the element type of a state. Here the elements are f32,
// which need no rounding (for bf16: store_bf16.cuh).
// Requires: nothing. Comes before kernel.cuh, which calls it.


__device__ __forceinline__ float stored(float x) { return x; }
