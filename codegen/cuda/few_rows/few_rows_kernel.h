// The template for small-M GEMMs (few_rows.h) on the tensor cores.
#pragma once

#include "codegen/cuda/few_rows/few_rows.h"

namespace smelt {

KernelCode few_rows_kernel(const FewRows& few);

}  // namespace smelt
