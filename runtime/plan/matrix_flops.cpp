#include "runtime/plan/matrix_flops.h"

#include "runtime/plan/choices.h"

namespace smelt {
namespace {

double flops_of(const GemmStep& gemm, const SymbolValues& sizes) {
  double flops = 2;
  for (const Dim* extent : {&gemm.m, &gemm.n, &gemm.k}) flops *= static_cast<double>(extent->evaluate(sizes));
  for (const GemmStep::Batch& batch : gemm.batch) flops *= static_cast<double>(batch.extent.evaluate(sizes));
  return flops;
}

}  // namespace

double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes) {
  double flops = 0;
  for (const Step& step : entry.steps)
    if (const auto* gemm = std::get_if<GemmStep>(&step.what); gemm && is_first_way(step) && !step.recomputed)
      flops += flops_of(*gemm, sizes);
  return flops;
}

}  // namespace smelt
