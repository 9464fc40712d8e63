// Low-rank adapters beside linear maps, as frontend/lora_config.h describes them.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontend/lora_config.h"
#include "frontend/parameter_names.h"
#include "ir/graph.h"

namespace smelt {

struct BlockBuilder;

/// What a module's graphs have had adapted; one for all of them.
struct Adapters {
  explicit Adapters(const LoraConfig& config) : config(config) {}
  const LoraConfig& config;
  std::set<std::string> linears, adapted;  // by module name
};

/// The adapter's addend to the linear map of x at `place`; null where there is none. `count`: as that of
/// stacked_linear, 0 of a plain linear map.
Value* adapter(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out);
/// What the names of tensors in files of adapters begin with.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// Whether a parameter is one of the matrices of an adapter.
bool is_adapter_parameter(std::string_view name);
/// After all graphs: names what is trained beside the adapters as PEFT does and, for training, freezes all
/// else. One Error names all targets and modules to save that are not there, or that cannot be adapted.
void finish_adapters(Module& module, const TransformerSpec& spec, const Adapters& adapters, bool training);

/// What a config leaves open: the targets (a model's queries and values), a new head of classes as a module
/// to save, and what says to others which model it is for.
LoraConfig with_defaults(LoraConfig config, const TransformerSpec& spec);

}  // namespace smelt
