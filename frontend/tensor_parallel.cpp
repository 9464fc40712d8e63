#include "frontend/tensor_parallel.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Weights are [outputs,inputs], and biases [outputs]; a stack of weights has one dim before.
enum class Shared : uint8_t { outputs, inputs };

struct SharedRow {
  std::string_view role;  // after a *: the end of a role (frontend/parameter_names.h)
  Shared dim;
  bool where_divided = false;  // otherwise ranks must divide it
};
constexpr SharedRow kSharedRows[] = {
    {"embedding.tokens", Shared::outputs, true},
    {"encoder.tokens", Shared::outputs, true},
    {"decoder.tokens", Shared::outputs, true},
    {"*.attention.qkv", Shared::outputs},
    {"*.attention.query", Shared::outputs},
    {"*.attention.key", Shared::outputs},
    {"*.attention.value", Shared::outputs},
    {"*.attention.out", Shared::inputs},
    {"*.cross.query", Shared::outputs},
    {"*.cross.key", Shared::outputs},
    {"*.cross.value", Shared::outputs},
    {"*.cross.out", Shared::inputs},
    {"*.distances", Shared::inputs},  // [buckets,heads]
    {"*.ffn.up", Shared::outputs},
    {"*.ffn.gate", Shared::outputs},
    {"*.ffn.gated", Shared::outputs},
    {"*.ffn.gate_up", Shared::outputs},
    {"*.ffn.down", Shared::inputs},
    {"head", Shared::outputs, true},
    {"head.offset", Shared::inputs, true},  // [1,words]
    {"mlm", Shared::outputs, true},
    {"mlm.decoder", Shared::outputs, true},
};

bool is_of(const SharedRow& row, std::string_view role) {
  return row.role.starts_with('*') ? role.ends_with(row.role.substr(1)) : role == row.role;
}

const SharedRow* row_of(std::string_view role) {
  for (const SharedRow& row : kSharedRows)
    if (is_of(row, role)) return &row;
  return nullptr;
}

/// The dim that is cut; nothing: what is added once for all inputs is whole.
std::optional<size_t> cut_dim(const SharedRow& row, std::string_view kind, size_t rank) {
  if (kind == "bias") return row.dim == Shared::outputs ? std::optional(rank - 1) : std::nullopt;
  return row.dim == Shared::outputs ? rank - 2 : rank - 1;
}

}  // namespace

bool is_tensor_parallel(const Mesh& mesh) {
  const auto axis = mesh.find(kModelAxis);
  return axis && mesh.axes[*axis].size > 1;
}

std::optional<Sharding> tensor_parallel(const Place& place, std::string_view kind, const Shape& shape,
                                        const Mesh& mesh) {
  if (!is_tensor_parallel(mesh)) return std::nullopt;
  const SharedRow* row = row_of(place.role);
  const auto dim = row ? cut_dim(*row, kind, shape.size()) : std::nullopt;
  const size_t axis = *mesh.find(kModelAxis);
  if (!dim || (row->where_divided && !can_cut(shape[*dim], mesh.axes[axis].size))) return std::nullopt;
  Sharding sharding{std::vector<std::vector<size_t>>(shape.size()), {}};
  sharding.dims[*dim] = {axis};
  return sharding;
}

std::vector<std::vector<std::string>> heads_of_cache(const Shape& shape, const Mesh& mesh) {
  constexpr size_t kHeads = 2;
  std::vector<std::vector<std::string>> cut;
  if (!is_tensor_parallel(mesh) || shape.size() != kHeads + 2) return cut;
  cut.resize(shape.size());
  cut[kHeads] = {std::string(kModelAxis)};
  return cut;
}

std::string unknown_axis(const Mesh& mesh) {
  const auto is_unknown = [](const MeshAxis& axis) {
    return axis.size > 1 && axis.name != "data" && axis.name != kModelAxis && axis.name != kStageAxis;
  };
  const auto found = llvm::find_if(mesh.axes, is_unknown);
  return found == mesh.axes.end() ? "" : found->name;
}

std::vector<SpecProblem> undivided(const TransformerSpec& spec, const Mesh& mesh) {
  std::vector<SpecProblem> problems;
  if (const std::string axis = unknown_axis(mesh); !axis.empty())
    problems.push_back({"mesh", fmt::format("has the axis {}, along which nothing is divided; expected data, "
                                            "model or stage",
                                            axis)});
  if (!is_tensor_parallel(mesh)) return problems;
  const int64_t ranks = mesh.axes[*mesh.find(kModelAxis)].size;
  const auto check = [&](const StackSpec& stack, const char* name, const char* field, int64_t number) {
    if (stack.layers > 0 && number % ranks != 0)
      problems.push_back({fmt::format("{}.{}", name, field),
                          fmt::format("is {}, which the {} ranks along the axis {} of the mesh do not divide",
                                      number, ranks, kModelAxis)});
  };
  const auto check_stack = [&](const StackSpec& stack, const char* name) {
    check(stack, name, "heads", stack.heads);
    check(stack, name, "kv_heads", stack.kv_heads);
    check(stack, name, "ffn", stack.ffn);
  };
  check_stack(spec.encoder, "encoder");
  check_stack(spec.decoder, "decoder");
  const auto refuse = [&](bool when, const char* field, const char* text) {
    if (when)
      problems.push_back(
          {field, fmt::format("{} the ranks along the axis {} of the mesh", text, kModelAxis)});
  };
  refuse(spec.attention.qk_norm && spec.attention.qk_norm_whole, "attention.qk_norm_whole",
         "true needs the heads of all of");
  refuse(spec.attention.fused_qkv && spec.decoder.kv_heads != spec.decoder.heads, "attention.fused_qkv",
         "true with kv_heads < heads is a weight that cannot be divided among");
  return problems;
}

}  // namespace smelt
