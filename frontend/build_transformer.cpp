#include "frontend/build_transformer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/blocks.h"
#include "frontend/hugging_face.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// Parts of a spec that have no builder, by field.
std::vector<SpecProblem> unsupported(const TransformerSpec& spec) {
  std::vector<SpecProblem> problems;
  const auto refuse = [&](bool when, const char* field, const char* text) {
    if (when) problems.push_back({field, text});
  };
  refuse(spec.encoder.layers > 0, "encoder.layers", "encoders cannot be built; expected 0");
  refuse(spec.positions.kind == PositionKind::sinusoidal || spec.positions.kind == PositionKind::rope ||
             spec.positions.kind == PositionKind::relative_buckets,
         "positions.kind", "cannot be built; expected learned or none");
  refuse(spec.embedding.token_types > 0, "embedding.token_types", "cannot be built; expected 0");
  refuse(spec.embedding.patch_size > 0, "embedding.patch_size", "images cannot be built; expected 0");
  refuse(spec.embedding.class_token, "embedding.class_token", "cannot be built; expected false");
  refuse(spec.head.kind != HeadKind::lm, "head.kind", "cannot be built; expected lm");
  refuse(spec.head.pooler, "head.pooler", "cannot be built; expected false");
  refuse(spec.head.tied && spec.head.bias, "head.bias", "cannot be built with a tied head; expected false");
  return problems;
}

void check_bound(const Symbols::Bound& bound) {
  const std::string name = fmt::format("{}", fmt::join(bound.factors, "*"));
  for (const std::string& factor : bound.factors)
    if (factor != "B" && factor != "T")
      fail("bound {} <= {}: there is no symbol {}; expected B (batch), T (length) or B*T", name, bound.upper,
           factor);
  if (bound.factors.empty() || bound.upper < 1)
    fail("bound {} <= {}: expected at least 1", name, bound.upper);
}

void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols) {
  int64_t batch = 8, length = spec.max_positions > 0 ? spec.max_positions : 512;
  for (const Symbols::Bound& bound : options.bounds) {
    check_bound(bound);
    if (bound.factors == std::vector<std::string>{"B"}) batch = bound.upper;
    if (bound.factors == std::vector<std::string>{"T"}) length = bound.upper;
  }
  const bool table = spec.positions.kind == PositionKind::learned;
  if (table && length > spec.max_positions)
    fail("bound T <= {}: the model has {} positions; give T <= {}", length, spec.max_positions,
         spec.max_positions);
  symbols.bound({"B"}, batch);
  symbols.bound({"T"}, length);
  for (const Symbols::Bound& bound : options.bounds)
    if (bound.factors.size() > 1) symbols.bound(bound.factors, bound.upper);
}

BlockBuilder make_builder(Module& module, const TransformerSpec& spec, const char* name,
                          TransformerSpec::Dropout dropout) {
  return {.graph = GraphBuilder(module.add_graph(name)),
          .spec = spec,
          .names = ParameterNames(spec),
          .dropout = dropout,
          .batch = Dim::symbol("B"),
          .length = Dim::symbol("T")};
}

Value* token_input(BlockBuilder& b, std::string name) {
  b.graph.set_source(name);
  return b.graph.input(std::move(name), {DType::i32, {b.batch, b.length}});
}

/// From ids to logits.
Value* forward(BlockBuilder& b, Value* ids, std::vector<Value*>& hidden) {
  return logits(b, decode(b, embed_tokens(b, ids), hidden));
}

void add_loss(BlockBuilder b) {
  Value* ids = token_input(b, "input_ids");
  Value* labels = token_input(b, "labels");
  std::vector<Value*> hidden;
  const LossOutputs loss = next_token_loss(b, forward(b, ids, hidden), labels);
  b.graph.output("loss_sum", loss.loss_sum);
  b.graph.output("token_count", loss.token_count);
}

void add_logits(BlockBuilder b, bool hidden_states) {
  std::vector<Value*> hidden;
  b.graph.output("logits", forward(b, token_input(b, "input_ids"), hidden));
  if (!hidden_states) return;
  for (size_t i = 0; i < hidden.size(); ++i) b.graph.output(fmt::format("hidden.{}", i), hidden[i]);
}

TransformerSpec::Dropout dropout_of(const TransformerSpec& spec, const BuildOptions& options) {
  if (!options.dropout) return spec.dropout;
  const double p = *options.dropout;
  if (!(p >= 0 && p <= 0.999)) fail("dropout {}: expected a probability from 0 to 0.999", p);
  return {p, p, p, spec.dropout.activation > 0 ? p : 0, p};
}

/// A special token: generation_config.json's word goes before config.json's; null: none.
Json token_id(int64_t id, const Json& generation, const char* name) {
  const auto it = generation.find(name);
  if (it != generation.end() && it->is_number_integer()) return *it;
  return id < 0 ? Json(nullptr) : Json(id);
}

Json end_ids(const std::vector<int64_t>& ids, const Json& generation) {
  const auto it = generation.find("eos_token_id");
  if (it == generation.end() || !(it->is_number_integer() || it->is_array())) return ids;
  return it->is_array() ? *it : Json::array({*it});
}

/// Buffers that checkpoints of the family carry, under every prefix.
Json ignored_tensors(const TransformerSpec& spec) {
  Json names = Json::array();
  if (const Family* family = find_family(spec.family))
    for (std::string_view name : family->ignored_tensors)
      for (std::string_view prefix : family->prefixes)
        names.push_back(std::string(prefix) + std::string(name));
  return names;
}

}  // namespace

Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation) {
  return {{"family", spec.family},
          {"vocab_size", spec.vocab_size},
          {"max_positions", spec.max_positions},
          {"bos_token_id", token_id(spec.tokens.bos, generation, "bos_token_id")},
          {"eos_token_id", end_ids(spec.tokens.eos, generation)},
          {"pad_token_id", token_id(spec.tokens.pad, generation, "pad_token_id")},
          {"ignore_index", spec.criterion.ignore_index},
          {"tokenizer", spec.tokenizer == Tokenizer::bytes ? "bytes" : "none"},
          {"head_tied", spec.head.tied},
          {"ignored_tensors", ignored_tensors(spec)},
          {"spec", to_json(spec)},
          {"config", config},
          {"generation", generation}};
}

std::unique_ptr<Module> build_transformer(const TransformerSpec& given, const BuildOptions& options) {
  TransformerSpec spec = given;
  complete(spec);
  std::vector<SpecProblem> problems = problems_of(spec);
  llvm::append_range(problems, unsupported(spec));
  if (!problems.empty()) fail_with_problems("transformer", problems);

  auto module = std::make_unique<Module>();
  bound_symbols(spec, options, module->symbols);
  if (options.training) {
    add_loss(make_builder(*module, spec, "loss", dropout_of(spec, options)));
    add_loss(make_builder(*module, spec, "evaluate", {}));
  }
  add_logits(make_builder(*module, spec, "logits", {}), options.hidden_states);
  const std::optional<Json> config = config_from_spec(spec);
  module->description = describe_model(spec, config.value_or(nullptr), Json::object()).dump();
  return module;
}

}  // namespace smelt
