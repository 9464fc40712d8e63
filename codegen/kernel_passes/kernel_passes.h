// The functions that kernel_passes.def names.
#pragma once

#include "codegen/kernel_passes/collapse_axes.h"
#include "codegen/kernel_passes/conditional_sums.h"
#include "codegen/kernel_passes/early_loads.h"
#include "codegen/kernel_passes/exchange_rounds.h"
#include "codegen/kernel_passes/fast_forms.h"
#include "codegen/kernel_passes/inverse_divisions.h"
#include "codegen/kernel_passes/keep_columns.h"
#include "codegen/kernel_passes/keep_exponentials.h"
#include "codegen/kernel_passes/legalize.h"
#include "codegen/kernel_passes/loads_first.h"
#include "codegen/kernel_passes/ordered_comparisons.h"
#include "codegen/kernel_passes/prefetch_rows.h"
#include "codegen/kernel_passes/row_barriers.h"
#include "codegen/kernel_passes/unrounded_stores.h"

namespace smelt {

enum class KernelPassKind : uint8_t { alone, gpu };

}  // namespace smelt
