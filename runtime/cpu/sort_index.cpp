#include "runtime/cpu/library_steps.h"

#include <algorithm>

#include "runtime/cpu/bind_step.h"

namespace smelt {

void sort_index(const int32_t* indices, int64_t count, int64_t rows, int32_t* permutation, int32_t* begins) {
  const auto inside = [rows](int32_t index) { return index >= 0 && index < rows; };
  std::fill_n(begins, rows + 1, 0);
  for (int64_t i = 0; i < count; ++i)
    if (inside(indices[i])) ++begins[indices[i] + 1];
  for (int64_t r = 0; r < rows; ++r) begins[r + 1] += begins[r];
  for (int64_t i = 0; i < count; ++i)  // each begin serves as its row's cursor and stops at the next begin
    if (inside(indices[i])) permutation[begins[indices[i]]++] = static_cast<int32_t>(i);
  int32_t last = begins[rows == 0 ? 0 : rows - 1];
  if (last < count)  // after all rows, so that every element is a position
    for (int64_t i = 0; i < count; ++i)
      if (!inside(indices[i])) permutation[last++] = static_cast<int32_t>(i);
  for (int64_t r = rows; r > 0; --r) begins[r] = begins[r - 1];
  begins[0] = 0;
}

Launch bind_step(const SortIndexStep& step, StepBinder& binder) {
  return
      [indices = binder.pointer<int32_t>(step.indices),
       permutation = binder.pointer<int32_t>(step.permutation), begins = binder.pointer<int32_t>(step.begins),
       count = binder.value(step.count), rows = binder.value(step.rows)](const StepRun&) {
        sort_index(indices, count, rows, permutation, begins);
      };
}

}  // namespace smelt
