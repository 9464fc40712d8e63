#include "compiler/cli/inference_ranks.h"

#include <algorithm>
#include <span>

#include "compiler/build_id.h"
#include "compiler/cli/train_ranks.h"
#include "frontend/tensor_parallel.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/file.h"
#include "runtime/weights/safetensors.h"

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
  const int visible = target.starts_with("cpu") ? 0 : cuda::device_count();
  return visible == 0 ? -1 : device_of(launch_, visible);
}

namespace {

/// Names, types, shapes and some of the numbers of all tensors: whole files take seconds to read.
std::string fingerprint(const Checkpoint& weights) {
  constexpr size_t kMostBytes = 256;
  Checksum sum;
  for (const TensorView& tensor : weights.tensors()) {
    const std::string about = fmt::format("{} {}", tensor.name, describe(tensor));
    const size_t bytes = std::min(kMostBytes, tensor.bytes.size());
    sum.add(std::as_bytes(std::span(about)));
    for (const auto& part : {tensor.bytes.first(bytes), tensor.bytes.last(bytes),
                             tensor.bytes.subspan((tensor.bytes.size() - bytes) / 2, bytes)})
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
  if (session.plan().target.starts_with("cpu")) return;
  runs();
  const auto own = [&] { return session.executor().choices(); };
  const std::string first = of_first("choices", own);
  if (first != own()) session.executor().restore_choices(first);
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
