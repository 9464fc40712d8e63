// Tensor parallelism (as in Megatron-LM): sharding of a model's parameters along the axis "model" of a mesh.
// A weight matrix [out,in] whose input is the residual stream is sharded along `out`. A weight matrix whose
// output is added to the residual stream is sharded along `in`. The embedding and the head are sharded along
// the vocabulary if the number of ranks divides its size; otherwise every rank has all of both.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/parameter_names.h"
#include "frontend/transformer_spec.h"
#include "ir/graph/sharding.h"

namespace smelt {

inline constexpr std::string_view kModelAxis = "model";

/// Returns the sharding of a parameter of the layer at `place` of the model. `kind` is "weight" or "bias".
/// Returns nothing if the parameter is not sharded: every rank then has all of it.
std::optional<Sharding> tensor_parallel(const Place& place, std::string_view kind, const Shape& shape,
                                        const Mesh& mesh);
/// Returns the sharding of a cache as State::cut has it: for each dim, the mesh axes that divide it. A cache
/// of keys or values, [slots,capacity,heads,width], is divided along its heads. Returns an empty list if the
/// cache is not divided, because it has no heads (a mask) or the mesh has no tensor parallelism.
std::vector<std::vector<std::string>> heads_of_cache(const Shape& shape, const Mesh& mesh);
/// Returns whether the mesh has several ranks along the axis "model".
bool is_tensor_parallel(const Mesh& mesh);
/// Returns the name of the first axis with several ranks that is not "data", "model" or "stage". The compiler
/// divides nothing along such an axis. Returns an empty text if there is none.
std::string unknown_axis(const Mesh& mesh);
/// Returns a problem for every size of the spec (heads, kv_heads, ffn) that is not a multiple of the number
/// of ranks along the axis "model", and for unknown_axis(). The size of the vocabulary need not be a
/// multiple.
std::vector<SpecProblem> undivided(const TransformerSpec& spec, const Mesh& mesh);

}  // namespace smelt
