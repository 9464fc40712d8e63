#include "compiler/cli/shared/program_text.h"

#include <fmt/ranges.h>

#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::cli {
namespace {

std::string gemm_name(const Program& program, const GemmStep& gemm) {
  std::string batches;
  for (const auto& batch : gemm.batch) batches += fmt::format("{}x ", program.symbols.upper(batch.extent));
  return fmt::format("gemm {}{}x{}x{}", batches, program.symbols.upper(gemm.m), program.symbols.upper(gemm.n),
                     program.symbols.upper(gemm.k));
}

std::string rows_text(const Program& program, const CollectiveStep& step) {
  if (step.rows.is_one()) return "";
  return fmt::format(" [{} rows]", program.symbols.upper(step.rows));
}

}  // namespace

std::string step_name(const Program& program, const Step& step) {
  if (const auto* launch = std::get_if<KernelStep>(&step.what))
    return program.kernels[static_cast<size_t>(launch->kernel)].name;
  if (const auto* gemm = std::get_if<GemmStep>(&step.what)) return gemm_name(program, *gemm);
  if (const auto* collective = std::get_if<CollectiveStep>(&step.what))
    return fmt::format("{} {}{}", name(collective->kind), collective->axis, rows_text(program, *collective));
  return std::string(kind_name(step));
}

std::string step_sources(const Step& step, size_t width) {
  std::string text = fmt::format("{}", fmt::join(step.sources, ", "));
  if (text.size() > width) text = text.substr(0, width - 3) + "...";
  return text;
}

}  // namespace smelt::cli
