// Checks before anything is compiled whether a checkpoint fits a model; Session::load_weights copies it.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"
#include "ir/graph.h"
#include "runtime/weights/safetensors.h"

namespace smelt {

/// Throws one Error that lists every parameter that the checkpoint lacks, every tensor of a wrong shape or
/// type, and every tensor that no parameter asks for. Buffers that the module's description names as ignored
/// are allowed, as is what the weights of an adapter are there in place of. `new_adapters`: those of the
/// module have no tensors yet.
void check_weights(const Module& module, const Checkpoint& weights, bool new_adapters = false);

/// Unties a head that the config ties to the embeddings but that the checkpoint holds with values of its own,
/// as transformers does. T5 1.1 is stored in that way.
void untie_stored_head(TransformerSpec& spec, const Checkpoint& weights);

/// Throws Error where the weights hold a table of positions that the model computes, with other values: they
/// would be left out.
void require_computed_positions(const TransformerSpec& spec, const Checkpoint& weights);

/// Whether a tensor of an adapter's file is the base model's own weight under an adapter, which PEFT stores
/// beside adapters of embeddings and heads: the base model has it with the same values.
bool repeats_base(const TensorView& tensor, const Checkpoint& weights);

/// The shape in files: that of a weight which they hold the other way round, or one below the other.
std::vector<int64_t> checkpoint_shape(const Module::Parameter& parameter);
/// The values of one parameter in our own layout ([out,in] for weights), whatever the checkpoint's spelling,
/// layout and float type. Throws Error where it is missing or does not fit.
std::vector<float> read_parameter(const Module::Parameter& parameter, const Checkpoint& weights);

}  // namespace smelt
