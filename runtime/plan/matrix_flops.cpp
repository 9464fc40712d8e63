#include "runtime/plan/plan_costs.h"

#include "runtime/plan/choices.h"

namespace smelt {

double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes) {
  double flops = 0;
  for (const Step& step : entry.steps)
    if (const auto* gemm = std::get_if<GemmStep>(&step.what); gemm && is_first_way(step) && !step.recomputed)
      flops += flops_of(*gemm, [&](const Dim& dim) { return dim.evaluate(sizes); });
  return flops;
}

}  // namespace smelt
