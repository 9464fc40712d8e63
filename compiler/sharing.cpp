#include "compiler/sharing.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/sharding/leave_addends.h"

namespace smelt {

bool shares_parameters(const Module& module) {
  return llvm::any_of(module.parameters, [](const Module::Parameter& parameter) {
    return parameter.sharding && !parameter.sharding->is_replicated();
  });
}

void plan_neighbours(Module& module, PassManager manager) {
  const std::unique_ptr<Module> copy = module.clone();
  manager.add("merge_gemms");
  manager.run(*copy);
  module.adjacent = copy->adjacent;
}

int64_t pipeline_stages(const Mesh& mesh) {
  const auto axis = mesh.find(kStageAxis);
  return axis ? mesh.axes[*axis].size : 1;
}

std::vector<std::string> share_batches(Module& module, const ShardTrainingOptions& options) {
  if (!module.mesh().find("data") || module.partitioned) return {};
  shard_training(module, options);
  return leave_addends(module, "data");
}

}  // namespace smelt
