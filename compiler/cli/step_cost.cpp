#include "compiler/cli/step_cost.h"

#include <fmt/ranges.h>

#include "compiler/summary.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::cli {
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

/// Of the matmuls around a body: two forward, and of the gradients those of dk and dv, of dq, of the scores,
/// or of all.
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

double kernel_flops(const Program& program, const Kernel& kernel) {
  double flops = kernel.attention ? attention_flops(program, *kernel.attention) : 0;
  if (kernel.gemm) flops += product_flops(program, *kernel.gemm);
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
  double flops = 2;
  for (const Dim& dim : {gemm.m, gemm.n, gemm.k}) flops *= static_cast<double>(program.symbols.upper(dim));
  for (const auto& batch : gemm.batch) flops *= static_cast<double>(program.symbols.upper(batch.extent));
  return flops;
}

std::string gemm_name(const Program& program, const GemmStep& gemm) {
  std::string batches;
  for (const auto& batch : gemm.batch) batches += fmt::format("{}x ", program.symbols.upper(batch.extent));
  return fmt::format("gemm {}{}x{}x{}", batches, program.symbols.upper(gemm.m), program.symbols.upper(gemm.n),
                     program.symbols.upper(gemm.k));
}

}  // namespace

StepCost step_cost(const Program& program, const Step& step) {
  const double flops = visit_step(
      step,
      [&](const KernelStep& launch) {
        return kernel_flops(program, program.kernels[static_cast<size_t>(launch.kernel)]);
      },
      [&](const GemmStep& gemm) { return gemm_flops(program, gemm); },
      [](const SortIndexStep&) { return 0.0; }, [](const ScanStep&) { return 0.0; },
      [](const TopKStep&) { return 0.0; }, [](const SampleStep&) { return 0.0; },
      [](const CopyStep&) { return 0.0; }, [](const FillStep&) { return 0.0; },
      [](const CollectiveStep&) { return 0.0; });
  return {step_bytes(program, step), flops};
}

std::string step_name(const Program& program, const Step& step) {
  if (const auto* launch = std::get_if<KernelStep>(&step.what))
    return program.kernels[static_cast<size_t>(launch->kernel)].name;
  if (const auto* gemm = std::get_if<GemmStep>(&step.what)) return gemm_name(program, *gemm);
  if (const auto* collective = std::get_if<CollectiveStep>(&step.what))
    return fmt::format("{} {}", name(collective->kind), collective->axis);
  return std::string(kind_name(step));
}

std::string step_sources(const Step& step, size_t width) {
  std::string text = fmt::format("{}", fmt::join(step.sources, ", "));
  if (text.size() > width) text = text.substr(0, width - 3) + "...";
  return text;
}

}  // namespace smelt::cli
