// The template for matmuls of few rows (few_rows.h) on the tensor cores.
#pragma once

#include <string_view>

#include "codegen/cuda/few_rows/few_rows.h"

namespace smelt {

KernelCode few_rows_kernel(const FewRows& few);

/// What the text has of the GPU's own instructions: tests on a host put others there.
extern const std::string_view kFewRowsInstructions;

}  // namespace smelt
