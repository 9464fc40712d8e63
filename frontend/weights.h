// Checks, before compilation, whether a checkpoint fits a model, and reads single parameters.
// Session::load_weights loads the checkpoint into a session.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/transformer_spec.h"
#include "ir/graph/graph.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {

/// Returns whether a parameter of this name may have no tensor in a checkpoint.
using MayLack = std::function<bool(const std::string& parameter)>;

/// Checks a checkpoint. Throws one Error that names every parameter without a tensor, unless `may_lack`
/// allows it, and every tensor of a wrong shape or type. It then names the tensors without a parameter, too.
/// Returns their names otherwise, because transformers ignores them; but throws Error for tensors of an
/// adapter or of a GGUF file, which change what the model computes. Three kinds of tensors need no parameter:
/// tensors whose names match "ignored_tensors" in the module's description; copies for which repeats_base()
/// returns true; and weights of the base model that an adapter's tensor replaces.
std::vector<std::string> check_weights(const Module& module, const Checkpoint& weights,
                                       const MayLack& may_lack = {});

/// Returns the names of the parameters of the model's head and of its pooler. The training of a task may
/// begin with initial values of them, where the weights are those of another task.
std::vector<std::string> head_parameters(const TransformerSpec& spec);

/// Sets spec.head.tied to false if the config ties the head to the embeddings, but the checkpoint has a
/// weight for the head with other values. The Python library transformers does the same. Checkpoints of T5
/// 1.1 are an example.
void untie_stored_head(TransformerSpec& spec, const Checkpoint& weights);

/// Checks the stored position tables of a model with sinusoidal positions. Throws Error if one differs from
/// the computed table, because the model would ignore it.
void require_computed_positions(const TransformerSpec& spec, const Checkpoint& weights);

/// Returns whether `tensor`, from a file of adapters, is a copy of a base model's weight ("base_layer"), with
/// the same values as in the base model. PEFT stores such copies next to adapters of embeddings and heads.
bool repeats_base(const TensorView& tensor, const Checkpoint& weights);

/// Returns whether `name` is that of the bound of the activations of a weight in the same file
/// (runtime/plan/activation_bound.h). Plans in floats have no use for it.
bool bounds_a_weight(std::string_view name, const Checkpoint& weights);

/// Returns the parameter's shape in checkpoints. It differs from the shape in the IR if the parameter is
/// transposed ([in,out] for [out,in]) or stacked ([2*m,n] for [2,m,n]).
std::vector<int64_t> checkpoint_shape(const Module::Parameter& parameter);
/// Returns the values of one parameter as f32 in the layout of the IR ([out,in] for weights). In the
/// checkpoint, the parameter may have any of its names, be transposed, and have any float type. Throws Error
/// if it is missing or does not fit.
std::vector<float> read_parameter(const Module::Parameter& parameter, const Checkpoint& weights);

}  // namespace smelt
