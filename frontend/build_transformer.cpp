#include "frontend/build_transformer.h"

#include "frontend/blocks/adapters.h"
#include "frontend/cached_graphs.h"
#include "frontend/hugging_face.h"
#include "frontend/model_checks.h"
#include "frontend/model_graph.h"
#include "frontend/symbol_bounds.h"
#include "frontend/tensor_parallel.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/plan/adapter_interface.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

double share(std::string_view name, double p) {
  if (!(p >= 0 && p <= 0.999)) fail("{} {}: expected a number from 0 to 0.999", name, p);
  return p;
}

/// Returns the spec with the numbers that the options replace.
TransformerSpec replaced(TransformerSpec spec, const BuildOptions& options) {
  complete(spec);
  TransformerSpec::Dropout& d = spec.dropout;
  if (options.dropout) {
    const double p = share("dropout", *options.dropout);
    d = {p, p, p, d.activation > 0 ? p : 0, p, d.block};
  }
  if (options.layer_dropout) d.block = share("layer_dropout", *options.layer_dropout);
  if (options.label_smoothing)
    spec.criterion.label_smoothing = share("label_smoothing", *options.label_smoothing);
  return spec;
}

}  // namespace

bool keeps_caches(const TransformerSpec& given, const BuildOptions& options) {
  TransformerSpec spec = given;
  complete(spec);
  return options.caches.value_or(problems_with_caches(spec, options).empty());
}

std::unique_ptr<Module> build_transformer(const TransformerSpec& given, const BuildOptions& options) {
  const TransformerSpec spec = replaced(given, options);
  std::vector<SpecProblem> problems = problems_of(spec);
  llvm::append_range(problems, unsupported(spec, options));
  llvm::append_range(problems, undivided(spec, options.mesh));
  if (!problems.empty()) fail_with_problems("transformer", problems);

  auto module = std::make_unique<Module>();
  if (!options.mesh.empty()) module->set_mesh(options.mesh);
  bound_symbols(spec, options, module->symbols);
  std::optional<Adapters> adapted;
  if (options.lora) adapted.emplace(*options.lora);
  Adapters* adapters = adapted ? &*adapted : nullptr;
  if (options.training) {
    ModelGraph(*module, spec, options, adapters, "loss", spec.dropout).add_loss();
    ModelGraph(*module, spec, options, adapters, "evaluate", {}).add_loss();
  }
  ModelGraph(*module, spec, options, adapters, entry::logits, {}).add_logits();
  std::optional<AdapterSlots> slots;
  if (options.adapters > 0) slots.emplace(options.adapters, options.adapter_rank, options.adapter_targets);
  if (keeps_caches(spec, options))
    add_cached_graphs(*module, spec, options, {adapters, slots ? &*slots : nullptr});
  if (adapters) finish_adapters(*module, spec, *adapters);
  TransformerSpec described = given;
  complete(described);
  const std::optional<Json> config = config_from_spec(described);
  Json description = describe_model(described, config.value_or(nullptr), Json::object());
  if (slots) description[kAdapterSlots] = slots->description();
  module->description = description.dump();
  return module;
}

}  // namespace smelt
