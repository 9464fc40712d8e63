// Checks before compilation whether a checkpoint fits a model; Session::load_weights copies it.
#pragma once

#include <vector>

#include "frontend/transformer_spec.h"
#include "ir/graph/graph.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {

/// Throws one Error with every parameter that the checkpoint lacks, every tensor of a wrong shape or type,
/// and every tensor without a parameter. Buffers that the module's description ignores are allowed, and so
/// are base weights that an adapter replaces. `new_adapters`: the module's adapters have no tensors yet.
void check_weights(const Module& module, const Checkpoint& weights, bool new_adapters = false);

/// Unties a head that the config ties to the embeddings if the checkpoint has a separate weight for it, as
/// transformers does. T5 1.1 is stored in that way.
void untie_stored_head(TransformerSpec& spec, const Checkpoint& weights);

/// Throws Error if the weights hold a table of positions that the model computes, with other values, because
/// the table would be ignored.
void require_computed_positions(const TransformerSpec& spec, const Checkpoint& weights);

/// Returns whether a tensor of an adapter's file is the base model's own weight under an adapter, which PEFT
/// stores next to adapters of embeddings and heads: the base model has it with the same values.
bool repeats_base(const TensorView& tensor, const Checkpoint& weights);

/// Returns the shape in files, where a weight may be transposed or stacked.
std::vector<int64_t> checkpoint_shape(const Module::Parameter& parameter);
/// Returns the values of one parameter in our own layout ([out,in] for weights), for any name, layout and
/// float type of the checkpoint. Throws Error if it is missing or does not fit.
std::vector<float> read_parameter(const Module::Parameter& parameter, const Checkpoint& weights);

}  // namespace smelt
