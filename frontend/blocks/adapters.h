// Low-rank adapters of linear maps, as described in runtime/engine/adapters/lora_config.h.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontend/parameter_names.h"
#include "ir/graph/graph.h"
#include "runtime/engine/adapters/lora_config.h"

namespace smelt {

struct BlockBuilder;  // frontend/blocks/blocks.h

/// State that all graphs of a Module share while they are built: the config of the adapters, and the linear
/// maps that adapter() was called for so far.
struct Adapters {
  explicit Adapters(const LoraConfig& config) : config(config) {}
  const LoraConfig& config;
  std::set<std::string> linears, adapted;  // names of all linear maps, and of those with an adapter
};

/// Returns the adapter's addend to the result of the linear map of x at `place` (the name of the map in the
/// model); null if the map has no adapter. For x [...,in] and the adapter's matrices A [r,in] and B [out,r],
/// where r is the rank of the adapter, the addend is scale * dropout(x) A^T B^T, [...,out]. `count` is 0 for
/// a plain linear map. The `count` maps of stacked_linear (blocks.h) share the matrix A; their matrix B is
/// [count,out,r], and for x [batch,tokens,in] their addend is [batch,tokens,count,out].
Value* adapter(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out);
/// Returns whether a parameter is one of the matrices of an adapter.
bool is_adapter_parameter(std::string_view name);
/// Completes the module after all its graphs are built. Parameters of the base model that are trained in
/// addition to the adapters get the names that PEFT gives them in files. All other parameters of the base
/// model are frozen. Throws one Error that names all targets that cannot be adapted, and all modules_to_save
/// that do not exist or cannot be saved.
void finish_adapters(Module& module, const TransformerSpec& spec, const Adapters& adapters);

/// Returns the config with defaults for its empty fields: the targets (the linear maps of queries and values,
/// or the one map of queries, keys and values), the classification head as a module to save, and the task
/// type. Sets fan_in_fan_out by the model's family.
LoraConfig with_defaults(LoraConfig config, const TransformerSpec& spec);

}  // namespace smelt
