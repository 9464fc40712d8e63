// Values by which a template kernel is launched (TemplateLaunch): the fields of a step, by name.
//
// A field has its name in plan_fields.h, after the name of the part or with the number in the list that it
// belongs to: "m", "a" (the begin of a matrix), "a_row_stride", "batch0_extent", "arguments2", "random_ids0".
// A gemm has contiguous rows of its result here: one with contiguous columns is given as C^T = B^T A^T.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct StepValues {
  std::vector<std::pair<std::string, BufferRef>> addresses;
  std::vector<std::pair<std::string, Dim>> integers;
  std::vector<std::pair<std::string, double>> reals;
};
StepValues values_of(const Step& step);

/// Returns whether values_of gives the product transposed.
bool is_seen_transposed(const GemmStep& step);

}  // namespace smelt
