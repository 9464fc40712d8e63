// Stable counting sort of indices, which makes scatter-add deterministic.
#pragma once

#include <cstdint>

namespace smelt {

/// permutation[i] is the position of the i-th smallest index, equal ones in order of position; row r's part
/// of it is [begins[r], begins[r+1]). `begins` has rows + 1 numbers. Indices outside [0, rows) come after
/// begins[rows].
void sort_index(const int32_t* indices, int64_t count, int64_t rows, int32_t* permutation, int32_t* begins);

}  // namespace smelt
