// Values with which a template kernel is launched (TemplateLaunch): the fields of a step, by name.
//
// The name of a field is that in visit_fields of the step's kind (runtime/plan/steps/). A field of a struct
// has the struct's name before its own ("a_row_stride"), and an element of a list has its number after the
// list's name ("batch0_extent", "arguments2", "random_ids0"). The address of a matrix has the name of the
// matrix ("a"). The result of a gemm always has contiguous rows here: if C has contiguous columns, the values
// are those of C^T = B^T A^T.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// The fields of one step by type: operands, whole numbers and real numbers, each with its name.
struct StepValues {
  std::vector<std::pair<std::string, BufferRef>> addresses;
  std::vector<std::pair<std::string, Dim>> integers;
  std::vector<std::pair<std::string, double>> reals;
};
/// Returns the values of a step's fields.
StepValues values_of(const Step& step);

/// Returns whether C has contiguous columns. If so, values_of returns the values of the transposed product.
bool is_seen_transposed(const GemmStep& step);

}  // namespace smelt
