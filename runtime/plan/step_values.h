// What a template kernel may be launched with (TemplateLaunch): the fields of a step, by name.
//
// A field is called as in plan_fields.h, one of a part after the part's name, one of a list by its number:
// "m", "a" (where a matrix begins), "a_row_stride", "batch0_extent", "arguments2", "random_ids0". A gemm is
// seen with the rows of its result together: one whose columns lie together as C^T = B^T A^T.
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

/// Whether values_of sees it transposed.
bool is_seen_transposed(const GemmStep& step);

}  // namespace smelt
