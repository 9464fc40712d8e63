// Low-rank adapters of linear maps, as described in frontend/lora_config.h.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontend/lora_config.h"
#include "frontend/parameter_names.h"
#include "ir/graph/graph.h"

namespace smelt {

struct BlockBuilder;  // frontend/blocks/blocks.h

/// Adapters of a module, shared by all its graphs, and the modules that adapter() was called for.
struct Adapters {
  explicit Adapters(const LoraConfig& config) : config(config) {}
  const LoraConfig& config;
  std::set<std::string> linears, adapted;  // names of all linear maps, and of those with an adapter
};

/// Returns the adapter's addend to the result of the linear map of x at `place`; null if the map has no
/// adapter. `out` is the number of output features. `count` is 0 for a plain linear map, else as in
/// stacked_linear (blocks.h).
Value* adapter(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out);
/// Prefix of the names of tensors in files of adapters.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// Returns whether a parameter is one of the matrices of an adapter.
bool is_adapter_parameter(std::string_view name);
/// Completes the module after all its graphs are built. Parameters that are trained in addition to the
/// adapters get the names that PEFT gives them in files. If `training`, all other parameters of the base
/// model are frozen. Throws one Error that names all targets and modules to save that do not exist or cannot
/// be adapted.
void finish_adapters(Module& module, const TransformerSpec& spec, const Adapters& adapters, bool training);

/// Returns the config with defaults for its empty fields: the targets (queries and values, or the fused
/// query, key and value), the classification head as a module to save, and the task type. Sets fan_in_fan_out
/// by the model's family.
LoraConfig with_defaults(LoraConfig config, const TransformerSpec& spec);

}  // namespace smelt
