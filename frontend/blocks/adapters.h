// Low-rank adapters of linear maps, as described in frontend/lora_config.h.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontend/lora_config.h"
#include "frontend/parameter_names.h"
#include "ir/graph/graph.h"

namespace smelt {

struct BlockBuilder;

/// Adapters of a module, shared by all its graphs.
struct Adapters {
  explicit Adapters(const LoraConfig& config) : config(config) {}
  const LoraConfig& config;
  std::set<std::string> linears, adapted;  // by module name
};

/// Returns the adapter's addend to the linear map of x at `place`; null if there is none. `count`: as in
/// stacked_linear; 0 for a plain linear map.
Value* adapter(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out);
/// Prefix of the names of tensors in files of adapters.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// Returns whether a parameter is one of the matrices of an adapter.
bool is_adapter_parameter(std::string_view name);
/// Runs after all graphs are built: names the other trained parameters as PEFT does and, for training,
/// freezes the rest. One Error names all targets and modules to save that do not exist or cannot be adapted.
void finish_adapters(Module& module, const TransformerSpec& spec, const Adapters& adapters, bool training);

/// Returns the config with defaults for its open fields: the targets (a model's queries and values), a new
/// classification head as a module to save, and the fields that name the base model.
LoraConfig with_defaults(LoraConfig config, const TransformerSpec& spec);

}  // namespace smelt
