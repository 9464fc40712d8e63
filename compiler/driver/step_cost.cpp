#include "compiler/driver/step_cost.h"

#include "compiler/driver/summary.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

bool computes(const Instruction& i) {
  using Kind = Instruction::Kind;
  return i.kind == Kind::scalar || i.kind == Kind::reduce || i.kind == Kind::accumulate ||
         i.kind == Kind::random;
}

bool covers(KernelBlock::Scope scope, AxisKind axis) {
  if (axis == AxisKind::parallel) return true;
  if (axis == AxisKind::column) return scope != KernelBlock::Scope::row;
  return scope == KernelBlock::Scope::reduced;
}

/// Returns the operations of the matmuls around a body: two matmuls in forward; in the gradients those of dk
/// and dv, of dq, of the scores, or of all.
double attention_flops(const Program& program, const AttentionKernel& attention) {
  static constexpr double kMatmuls[] = {2, 4, 3, 2, 5};
  double flops = 2 * static_cast<double>(attention.width) * kMatmuls[static_cast<size_t>(attention.part)];
  for (const Dim& dim : {attention.batch, attention.heads, attention.queries, attention.keys})
    flops *= static_cast<double>(program.symbols.upper(dim));
  return flops;
}

double product_flops(const Program& program, const GemmKernel& gemm) {
  double flops = 2;
  for (const Dim& dim : {gemm.m, gemm.n, gemm.k}) flops *= static_cast<double>(program.symbols.upper(dim));
  return flops;
}

double product_flops(const Program& program, const Kernel& kernel) {
  const double flops = kernel.attention ? attention_flops(program, *kernel.attention) : 0;
  return kernel.gemm ? flops + product_flops(program, *kernel.gemm) : flops;
}

double kernel_flops(const Program& program, const Kernel& kernel) {
  double flops = product_flops(program, kernel);
  for (const std::vector<Kernel>* others : {&kernel.before, &kernel.tail})
    for (const Kernel& other : *others) flops += kernel_flops(program, other);
  for (const KernelBlock& block : kernel.blocks) {
    double times = 1;
    for (const KernelAxis& axis : kernel.axes)
      if (covers(block.scope, axis.kind)) times *= static_cast<double>(program.symbols.upper(axis.extent));
    for (const int i : block.instructions)
      if (computes(kernel.instructions[static_cast<size_t>(i)])) flops += times * kernel.copies;
  }
  return flops;
}

double gemm_flops(const Program& program, const GemmStep& gemm) {
  return flops_of(gemm, [&](const Dim& dim) { return program.symbols.upper(dim); });
}

/// The operations that run at the rate of a matmul, with their type and share of that rate.
struct Products {
  double flops = 0, share = 1;
  DType dtype = DType::f32;
  bool tf32 = false;
};

Products kernel_products(const Program& program, const Kernel& kernel, const Rates& rates) {
  const double flops = product_flops(program, kernel);
  if (kernel.attention)
    return {flops, rates.attention_share,
            kernel.params[static_cast<size_t>(kernel.attention->matrices.front().param)].dtype};
  if (kernel.gemm && kernel.gemm->packed) return {flops, 1, DType::bf16};
  return {flops, 1,
          kernel.gemm ? kernel.params[static_cast<size_t>(kernel.gemm->b.param)].dtype : DType::f32};
}

Products products(const Program& program, const Step& step, const Rates& rates) {
  if (const auto* gemm = std::get_if<GemmStep>(&step.what))
    return {gemm_flops(program, *gemm), 1, gemm->dtype, gemm->tf32};
  const auto* launch = std::get_if<KernelStep>(&step.what);
  return launch ? kernel_products(program, program.kernels[static_cast<size_t>(launch->kernel)], rates)
                : Products{};
}

}  // namespace

StepCost step_cost(const Program& program, const Step& step) {
  const double flops = visit_step(
      step,
      [&](const KernelStep& launch) {
        return kernel_flops(program, program.kernels[static_cast<size_t>(launch.kernel)]);
      },
      [&](const GemmStep& gemm) { return gemm_flops(program, gemm); }, [](const auto&) { return 0.0; });
  return {step_bytes(program, step), flops};
}

double step_seconds(const Program& program, const Step& step, const Rates& rates) {
  const Products work = products(program, step, rates);
  return rates.seconds(static_cast<double>(step_bytes(program, step)), work.flops,
                       work.share * rates.flops(work.dtype, work.tf32));
}

bool has_products(const Program& program, const Step& step) { return products(program, step, {}).flops > 0; }

double predicted_seconds(const Program& program, const PlanEntry& entry, const Rates& rates) {
  double seconds = 0;
  for (const Step& step : entry.steps)
    if (is_first_way(step)) seconds += step_seconds(program, step, rates);
  return seconds;
}

double matmul_price(const Rates& rates, DType storage, bool tf32) {
  constexpr double kGiB = 1 << 30, kInnerElements = 1024;
  return 2 * kGiB / static_cast<double>(size_of(storage)) * kInnerElements / rates.flops(storage, tf32);
}

double recomputed_flops(const Program& program, const PlanEntry& entry) {
  double flops = 0;
  for (const Step& step : entry.steps)
    if (step.recomputed && is_first_way(step)) flops += products(program, step, {}).flops;
  return flops;
}

}  // namespace smelt
