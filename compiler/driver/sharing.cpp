#include "compiler/driver/pipeline_stages.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {

bool shares_parameters(const Module& module) {
  return llvm::any_of(module.parameters, [](const Module::Parameter& parameter) {
    return parameter.sharding && !parameter.sharding->is_replicated();
  });
}

int64_t pipeline_stages(const Mesh& mesh) {
  const auto axis = mesh.find(kStageAxis);
  return axis ? mesh.axes[*axis].size : 1;
}

}  // namespace smelt
