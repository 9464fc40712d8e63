// Stores an element that was found, and its index.
// Requires: rows/entry.cuh. Both kernels of top_k have it.

__device__ __forceinline__ void put(const float* x, Entry entry, float* value, int* index) {
  const int at = entry == 0 ? -1 : index_of(entry);
  *value = at < 0 ? __uint_as_float(0xFF800000u) : x[at];
  *index = at;
}

