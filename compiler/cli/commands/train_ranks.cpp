#include "compiler/cli/commands/train_ranks.h"

#include "compiler/cli/command.h"
#include "compiler/cli/shared/trainer_flags.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/option_forms.h"
#include "compiler/driver/pipeline_stages.h"
#include "runtime/base/error.h"
#include "runtime/cuda/driver.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

/// Returns the part of the plan that is the same at all ranks: each stage of a pipeline has a plan of its
/// own, of the same model and the same number of parts.
std::string common_part(const Plan& plan) {
  const auto stage = pipeline_stage(plan);
  if (!stage) return serialize_plan(plan);
  return fmt::format("{} {} {} {}", plan.target, plan.model, str(plan.mesh), stage->parts_a_stage);
}

/// Returns whether a rank prints the failure that ends the run: rank 0, or rank 1 where rank 0 is lost or
/// hangs. Rank 0 has already printed its own Error, which the others receive after its name.
bool says_failure(int64_t rank, std::string_view failure) {
  const bool names_first = failure.starts_with("rank 0 (");
  const bool failed = failure.substr(0, failure.find(':')).ends_with(" failed");
  return rank == 0 || (rank == 1 && names_first && !failed);
}

}  // namespace

std::string checksum_of(std::string_view bytes) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.hex();
}

int TrainRanks::device() const {
  const int visible = cuda::device_count();
  return visible == 0 ? -1 : device_of(launch_, visible);
}

int64_t TrainRanks::stage() const {
  const auto axis = mesh().find(kStageAxis);
  return axis ? mesh().coordinates(groups_.rank())[*axis] : 0;
}

bool TrainRanks::samples(const Plan& plan) const {
  const auto data = mesh().find("data");
  return !data || exchanges_along(plan, "logits", "data") || mesh().coordinates(groups_.rank())[*data] == 0;
}

void TrainRanks::require_plan(const Plan& plan) {
  require_mesh(plan, &groups_);
  for (const MeshAxis& axis : mesh().axes)
    if (axis.size > 1 && !uses_axis(plan, axis))
      fail(
          "nothing of the plan is shared along the axis {} of the mesh {}: its ranks would all do the same; "
          "training uses the axes data, model and stage, such as --mesh data={}",
          axis.name, str(mesh()), mesh().ranks());
}

void TrainRanks::agree_stages(const Plan& plan, const CompileOptions* compiled) {
  RankLink::Values values = {{"code", compiler_build_id()}};
  for (auto& flag : stage_flags(plan, compiled)) values.push_back(std::move(flag));
  ranks_.link().agree("flags", values);
}

void TrainRanks::agree(const Plan& plan, const std::string& data, const TrainerOptions& options) {
  RankLink::Values values = {
      {"code", compiler_build_id()}, {"plan", checksum_of(common_part(plan))}, {"data", data}};
  const Json all = parse_json(to_json(options), "options");
  for (const auto& [name, value] : all.items()) values.emplace_back(name, value.dump());
  ranks_.link().agree("the run to train", values);
}

Mesh mesh_of_ranks(const Mesh& given, int64_t count, const RankUse& use) {
  Mesh mesh = given.empty() ? Mesh{{{std::string(use.axis), count}}} : given;
  if (mesh.ranks() == count) return mesh;
  fail("--mesh {} is of {} ranks, and {}: start as many with `smelt launch -n {} -- smelt {} ...`",
       mesh_text(mesh), mesh.ranks(),
       count == 1 ? "this process was started alone" : fmt::format("{} were started", count), mesh.ranks(),
       use.command);
}

void require_no_stages(const Mesh& mesh) {
  if (pipeline_stages(mesh) > 1)
    fail("--mesh {}: stages of a pipeline are for training, which is not profiled: give --mesh model={}",
         mesh_text(mesh), mesh.ranks());
}

void join_ranks(const Launch& launch, const std::function<void(Ranks&)>& work) {
  Ranks ranks(launch);
  try {
    ranks.run([&] { work(ranks); });
  } catch (const std::exception& error) {
    if (says_failure(ranks.rank(), error.what())) throw;
    exit_with(1);
  }
}

void train_over_ranks(const Mesh& given, const std::function<void(TrainRanks*)>& train) {
  const Launch launch = read_launch(process_environment());
  const Mesh mesh = mesh_of_ranks(given, launch.size);
  if (launch.size == 1) return train(nullptr);
  join_ranks(launch, [&](Ranks& ranks) {
    TrainRanks joined(ranks, launch, mesh);
    train(&joined);
  });
}

}  // namespace smelt::cli
