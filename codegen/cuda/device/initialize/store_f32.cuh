// The counterpart of store_bf16.cuh for states in f32, whose elements need no rounding.
// Requires: nothing.


__device__ __forceinline__ float stored(float x) { return x; }
