#include "compiler/cli/inference_ranks.h"

#include "compiler/build_id.h"
#include "compiler/cli/train_ranks.h"
#include "frontend/tensor_parallel.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_ranks.h"

namespace smelt::cli {

InferenceRanks::InferenceRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh)
    : ranks_(ranks), launch_(launch), groups_(ranks, mesh) {
  for (const MeshAxis& axis : mesh.axes)
    if (axis.size > 1 && axis.name != kModelAxis)
      fail(
          "--mesh {}: ranks along the axis {} would all do the same; inference shares a model along the axis "
          "{}, such as --mesh {}={}",
          str(mesh), axis.name, kModelAxis, kModelAxis, mesh.ranks());
}

void InferenceRanks::add_to(CompileOptions& options) const {
  options.mesh = groups_.mesh();
  options.device = device(options.target);
}

void InferenceRanks::add_to(SessionOptions& options, const std::string& target) {
  options.ranks = &groups_;
  options.device = device(target);
}

void InferenceRanks::add_to(SessionOptions& options, const Plan& plan) {
  require_mesh(plan, &groups_);
  add_to(options, plan.target);
}

/// Ranks of a host have a GPU each; those of a CPU plan need none.
int InferenceRanks::device(const std::string& target) const {
  const int visible = target == "cpu" ? 0 : cuda::device_count();
  return visible == 0 ? -1 : device_of(launch_, visible);
}

void InferenceRanks::agree(std::string_view what, const Plan& plan, const Json& values) {
  RankLink::Values all = {{"code", compiler_build_id()}, {"plan", checksum_of(serialize_plan(plan))}};
  for (const auto& [name, value] : values.items()) all.emplace_back(name, value.dump());
  ranks_.link().agree(what, all);
}

std::string InferenceRanks::of_first(std::string_view what, const std::function<std::string()>& read) {
  return ranks_.link().broadcast(what, is_first() ? read() : "");
}

void infer_over_ranks(const std::string& option, std::string_view command,
                      const std::function<void(InferenceRanks*)>& work) {
  const Launch launch = read_launch(process_environment());
  const Mesh mesh = mesh_of_ranks(option, launch.size, {command, kModelAxis});
  if (launch.size == 1) return work(nullptr);
  join_ranks(launch, [&](Ranks& ranks) {
    InferenceRanks joined(ranks, launch, mesh);
    work(&joined);
  });
}

}  // namespace smelt::cli
