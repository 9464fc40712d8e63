// Stores one result of top_k for the row x: an element in *value, and its index in *index. entry: the
// element and its index as one integer. An entry of 0 means that the row has no more elements; then -inf and
// the index -1 are stored. Both kernels of top_k call it.
// Requires: ../rows/entry.cuh.

__device__ __forceinline__ void put(const float* x, Entry entry, float* value, int* index) {
  const int at = entry == 0 ? -1 : index_of(entry);
  *value = at < 0 ? __uint_as_float(0xFF800000u) : x[at];
  *index = at;
}

