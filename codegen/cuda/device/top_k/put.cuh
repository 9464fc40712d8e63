// Stores one result of top_k: an element of the row x, and the element's index. The entry 0 means that
// the row has no more elements; for it, stores -inf and the index -1. Both kernels of top_k call it.
// Requires: ../rows/entry.cuh.

__device__ __forceinline__ void put(const float* x, Entry entry, float* value, int* index) {
  const int at = entry == 0 ? -1 : index_of(entry);
  *value = at < 0 ? __uint_as_float(0xFF800000u) : x[at];
  *index = at;
}

