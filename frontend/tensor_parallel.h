// Tensor parallelism (Megatron): sharding of a model's parameters along the axis "model" of a mesh. Each rank
// has some outputs of the matrices that read the residual stream, the corresponding inputs of those that
// write to it, and some words of the vocabulary.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/parameter_names.h"
#include "frontend/transformer_spec.h"
#include "ir/graph/sharding.h"

namespace smelt {

inline constexpr std::string_view kModelAxis = "model";

/// Returns the sharding of the parameter `kind`, "weight" or "bias", of a module; nothing: every rank has all
/// of it.
std::optional<Sharding> tensor_parallel(const Place& place, std::string_view kind, const Shape& shape,
                                        const Mesh& mesh);
/// Returns the sharding of a cache (State::cut): each rank keeps its own heads of keys and values,
/// [slots,places,heads,width]; nothing for a cache without heads, such as a mask.
std::vector<std::vector<std::string>> heads_of_cache(const Shape& shape, const Mesh& mesh);
/// Returns whether the parameters of a module are sharded over this mesh.
bool is_tensor_parallel(const Mesh& mesh);
/// Names the first axis of several ranks along which the compiler divides nothing by itself: it is none of
/// data, model and stage. Empty: there is none.
std::string unknown_axis(const Mesh& mesh);
/// Returns every number of the spec that the ranks along the axis must divide and do not. A vocabulary that
/// they do not divide is valid: every rank then has all of it.
std::vector<SpecProblem> undivided(const TransformerSpec& spec, const Mesh& mesh);

}  // namespace smelt
