// Stores an element of the row x and its index; -inf and -1 for the entry 0, because the row has too few
// elements. Both kernels of top_k call it.
// Requires: ../rows/entry.cuh.

__device__ __forceinline__ void put(const float* x, Entry entry, float* value, int* index) {
  const int at = entry == 0 ? -1 : index_of(entry);
  *value = at < 0 ? __uint_as_float(0xFF800000u) : x[at];
  *index = at;
}

