// How ranks along the axis "model" of a mesh share the parameters of a model (Megatron's pattern): of the
// matrices that read the residual stream each rank has some outputs, of those that write into it the inputs
// that belong to these, and of the vocabulary some words.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/parameter_names.h"
#include "frontend/transformer_spec.h"
#include "ir/sharding.h"

namespace smelt {

inline constexpr std::string_view kModelAxis = "model";

/// Of the parameter that a place calls `kind`, "weight" or "bias"; nothing: every rank has all of it.
std::optional<Sharding> tensor_parallel(const Place& place, std::string_view kind, const Shape& shape,
                                        const Mesh& mesh);
/// How ranks cut a cache (State::cut): of keys and values, [slots,places,heads,width], each keeps its own
/// heads; nothing of what has no heads, as a mask.
std::vector<std::vector<std::string>> heads_of_cache(const Shape& shape, const Mesh& mesh);
/// Whether the parameters of a module are shared over this mesh at all.
bool is_tensor_parallel(const Mesh& mesh);
/// Every number of the spec that the ranks along the axis would have to divide and do not. A vocabulary that
/// they do not divide is no problem: every rank then has all of it.
std::vector<SpecProblem> undivided(const TransformerSpec& spec, const Mesh& mesh);

}  // namespace smelt
