#include "compiler/cli/shared/inference_ranks.h"

#include <algorithm>
#include <span>

#include "compiler/cli/commands/train_ranks.h"
#include "compiler/driver/build_id.h"
#include "frontend/tensor_parallel.h"
#include "runtime/base/error.h"
#include "runtime/cuda/driver.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/engine/weights/stored_rows.h"
#include "runtime/plan/device_kind.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/file.h"

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
  options.device = device(resolved_target(options).can.own_memory);
}

void InferenceRanks::add_to(SessionOptions& options, const CompileOptions& compiled) {
  options.ranks = &groups_;
  options.device = compiled.device;
}

void InferenceRanks::add_to(SessionOptions& options, const Plan& plan) {
  require_mesh(plan, &groups_);
  options.ranks = &groups_;
  options.device = device(device_kind(plan.target).own_memory);
}

/// Ranks of a host have a GPU each; those of a CPU plan need none.
int InferenceRanks::device(bool own_memory) const {
  const int visible = own_memory ? cuda::device_count() : 0;
  return visible == 0 ? -1 : device_of(launch_, visible);
}

namespace {

/// Names, types, shapes and some of the numbers of all tensors: whole files take seconds to read.
std::string fingerprint(const Checkpoint& weights) {
  constexpr size_t kMostBytes = 256;
  Checksum sum;
  for (const TensorView& tensor : weights.tensors()) {
    const std::string about = fmt::format("{} {}", tensor.name, describe(tensor));
    const auto stored = tensor.source ? tensor.source->stored() : tensor.bytes;
    const size_t bytes = std::min(kMostBytes, stored.size());
    sum.add(std::as_bytes(std::span(about)));
    for (const auto& part :
         {stored.first(bytes), stored.last(bytes), stored.subspan((stored.size() - bytes) / 2, bytes)})
      sum.add(part);
  }
  return sum.hex();
}

}  // namespace

void InferenceRanks::agree(std::string_view what, const Model& model, const Json& values) {
  RankLink::Values all = {{"code", compiler_build_id()}, {"plan", checksum_of(serialize_plan(*model.plan))}};
  for (const auto& [name, value] : values.items()) all.emplace_back(name, value.dump());
  all.emplace_back("weights' numbers", model.weights ? fingerprint(*model.weights->tensors) : "none");
  ranks_.link().agree(what, all);
}

void InferenceRanks::share_choices(Session& session, const std::function<void()>& runs) {
  if (!device_kind(session.plan().target).measures) return;
  runs();
  const auto own = [&] { return session.executor().choices(); };
  const std::string first = of_first("choices", own);
  if (first != own()) session.executor().restore_choices(first);
}

std::string InferenceRanks::of_first(std::string_view what, const std::function<std::string()>& read) {
  return ranks_.link().broadcast(what, is_first() ? read() : "");
}

void infer_over_ranks(const Mesh& given, std::string_view command,
                      const std::function<void(InferenceRanks*)>& work) {
  const Launch launch = read_launch(process_environment());
  const Mesh mesh = mesh_of_ranks(given, launch.size, {command, kModelAxis});
  if (launch.size == 1) return work(nullptr);
  join_ranks(launch, [&](Ranks& ranks) {
    InferenceRanks joined(ranks, launch, mesh);
    work(&joined);
  });
}

}  // namespace smelt::cli
