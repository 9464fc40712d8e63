#include "passes/graph/training/freeze_parameters.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/autodiff/make_backward.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"

namespace smelt {
bool freeze_parameters(Module& module, const FreezeParametersOptions& options) {
  if (options.trained.empty()) return false;
  const std::vector<bool> fits = parameters_that_fit(module, options.trained);
  bool changed = false, trains = false;
  for (auto [i, parameter] : llvm::enumerate(module.parameters)) {
    changed |= !fits[i] && !parameter.frozen;
    parameter.frozen |= !fits[i];
    trains |= !parameter.frozen;
  }
  if (!trains)
    fail("{}: there is nothing to train, all of these are frozen", fmt::join(options.trained, ", "));
  return changed;
}

}  // namespace smelt
