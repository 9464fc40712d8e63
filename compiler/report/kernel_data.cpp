#include "compiler/report/report_data.h"

#include "codegen/code_generator.h"

namespace smelt {
namespace {

Json schedule_data(const Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  Json data = {{"grain", s.grain}, {"splits", s.splits}, {"vector width", s.vector_width}, {"tile", s.tile}};
  if (s.threads == 0) return data;
  return {{"threads of a block", s.threads},
          {"threads of a row", s.team},
          {"rows of a block", s.grain},
          {"splits", s.splits},
          {"vectors of a row", s.vectors},
          {"vector width", s.vector_width},
          {"unroll", s.unroll},
          {"prefetch distance", s.prefetch_distance}};
}

void add_origins(const Kernel& kernel, Json& origins) {
  Json lines = Json::array();
  for (const Instruction& instruction : kernel.instructions) lines.push_back(instruction.origin.node);
  origins.push_back(std::move(lines));
  for (const std::vector<Kernel>* inner : {&kernel.before, &kernel.beside, &kernel.tail})
    for (const Kernel& other : *inner) add_origins(other, origins);
}

Json resources_data(const KernelResources& resources) {
  return {{"registers", resources.code.registers},
          {"stack_bytes", resources.code.stack_bytes},
          {"shared_bytes", resources.code.shared_bytes},
          {"launch_shared_bytes", resources.launch_shared_bytes},
          {"threads", resources.threads},
          {"blocks", resources.occupancy.blocks},
          {"occupancy", resources.occupancy.share},
          {"bound", resources.occupancy.bound}};
}

/// Returns the code without the comment before it, which repeats the kernel's text.
std::string code_of(std::string_view code) {
  while (code.starts_with("//")) code.remove_prefix(std::min(code.find('\n'), code.size() - 1) + 1);
  return std::string(code);
}

Json kernel_data(const ReportedPlan& plan, size_t number) {
  const Kernel& kernel = plan.program.kernels[number];
  Json data = {{"name", kernel.name},
               {"text", kernel.params.empty() ? "" : print(kernel)},
               {"language", code_generator(plan.rates_of).language()},
               {"code", number < plan.codes.size() ? code_of(plan.codes[number]) : ""},
               {"schedule", schedule_data(kernel)}};
  if (plan.fused) add_origins(kernel, data["origins"]);
  if (number < plan.resources.size() && plan.resources[number])
    data["resources"] = resources_data(*plan.resources[number]);
  return data;
}

}  // namespace

Json kernels_data(const ReportedPlan& plan) {
  Json kernels = Json::array();
  for (size_t i = 0; i < plan.program.kernels.size(); ++i) kernels.push_back(kernel_data(plan, i));
  return kernels;
}

}  // namespace smelt
