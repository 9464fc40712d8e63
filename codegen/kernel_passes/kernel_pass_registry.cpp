#include "codegen/kernel_passes/kernel_pass_registry.h"

#include <fmt/ranges.h>

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
#include "codegen/kernel_passes/prefetch_rows.h"
#include "codegen/kernel_passes/row_barriers.h"
#include "codegen/kernel_passes/unrounded_stores.h"
#include "ir/text/nearest_names.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/error.h"

namespace smelt {
namespace {

constexpr KernelPass kKernelPasses[] = {
#define SMELT_KERNEL_PASS(name, function, kind, description) \
  {#name, description, KernelPassKind::kind, [](Kernel& kernel) { function(kernel); }},
#include "codegen/kernel_passes/kernel_passes.def"
};

}  // namespace

std::span<const KernelPass> all_kernel_passes() { return kKernelPasses; }

const KernelPass& find_kernel_pass(std::string_view name) {
  std::vector<std::string> names;
  for (const KernelPass& pass : kKernelPasses) {
    if (pass.name == name) return pass;
    names.emplace_back(pass.name);
  }
  fail("there is no pass over kernels '{}'; there are {}{}", name, fmt::join(names, ", "),
       did_you_mean(name, names));
}

std::vector<const KernelPass*> parse_kernel_pipeline(std::string_view text) {
  std::vector<const KernelPass*> passes;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(text).split(names, ',', -1, false);
  for (const llvm::StringRef name : names) passes.push_back(&find_kernel_pass(std::string_view(name.trim())));
  return passes;
}

}  // namespace smelt
