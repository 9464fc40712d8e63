// An initial weight as float32 stores it.
// Requires: nothing.


__device__ __forceinline__ float stored(float x) { return x; }
