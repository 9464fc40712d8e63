#include "frontend/model_graph.h"

#include <fmt/format.h>

#include "frontend/model_checks.h"
#include "runtime/plan/decode_contract.h"
namespace smelt {

ModelGraph::ModelGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters, const char* name, TransformerSpec::Dropout dropout)
    : spec_(spec),
      options_(options),
      b_{.graph = GraphBuilder(module.add_graph(name)),
         .spec = spec,
         .names = ParameterNames(spec),
         .dropout = dropout,
         .cache_type = options.cache_type,
         .cache_codes = options.cache_codes,
         .adapters = adapters,
         .adapter_dropout = std::string_view(name) == "loss" && adapters ? adapters->config.dropout : 0,
         .same_bits = options.same_bits} {}

void ModelGraph::add_loss() {
  read_sources();
  labels_ =
      input("labels", has_classes(spec_) ? label_type(spec_, batch_) : Type{DType::i32, {batch_, length_}});
  if (has_decoder(spec_)) decode(has_both(spec_) ? teacher_forced(b_, labels_) : ids_);
  const bool next = has_decoder(spec_) && !has_both(spec_);
  // With segments, only some labels are used, so their uses do not determine their range.
  if (next && segments_) set_id_range(*labels_->node(), {spec_.vocab_size, spec_.criterion.ignore_index});
  Value* found = logits(b_, last_);
  const LossOutputs loss =
      has_classes(spec_)
          ? class_loss(b_, found, labels_)
          : cross_entropy_loss(b_, found, next ? next_tokens(b_, labels_, segments_) : labels_);
  b_.graph.output("loss_sum", loss.loss_sum);
  b_.graph.output("token_count", loss.token_count);
}

void ModelGraph::add_logits() {
  read_sources();
  if (has_decoder(spec_))
    decode(has_both(spec_) ? input(std::string(port::decoder_input_ids), {batch_, length_}) : ids_);
  Value* found = logits(b_, last_);
  if (found) b_.graph.output(std::string(port::logits), found);
  if (found && !options_.hidden_states) return;
  b_.graph.output("last_hidden_state", last_);
  if (Value* pool = spec_.head.pooler ? pooled(b_, last_) : nullptr) b_.graph.output("pooler_output", pool);
  if (!options_.hidden_states) return;
  output_all("encoder_hidden", encoder_hidden_);
  output_all("hidden", hidden_);
}

Value* ModelGraph::input(std::string name, Type type) {
  b_.graph.set_source(name);
  return b_.graph.input(std::move(name), std::move(type));
}
Value* ModelGraph::input(std::string name, Shape shape) {
  return input(std::move(name), Type{DType::i32, std::move(shape)});
}

Value* ModelGraph::optional_input(std::string name, Shape shape, double fill) {
  Value* value = input(std::move(name), std::move(shape));
  value->node()->set(attr::optional, true);
  value->node()->set(attr::fill, fill);
  return value;
}

bool ModelGraph::masked() const {
  return options_.attention_mask.value_or(has_encoder(spec_)) && !has_patches(spec_);
}

void ModelGraph::read_sources() {
  if (has_patches(spec_)) return encode_image();
  const Dim length = has_both(spec_) ? Dim::symbol("S") : length_;
  ids_ = input(std::string(port::input_ids), {batch_, length});
  if (masked()) mask_ = optional_input(std::string(port::attention_mask), {batch_, length}, 1);
  if (options_.segment_ids) segments_ = optional_input("segment_ids", {batch_, length}, 0);
  if (options_.position_ids) position_ids_ = given_positions(length);
  if (has_encoder(spec_)) encode(length);
}

/// A position of -1 is a token's place in its row.
Value* ModelGraph::given_positions(const Dim& length) {
  constexpr double kOwnPlace = -1;
  Value* given = optional_input("position_ids", {batch_, length}, kOwnPlace);
  Value* places = b_.graph.iota(given->type, 1);
  return b_.graph.select(b_.graph.eq(given, b_.graph.like(given, kOwnPlace)), places, given);
}

void ModelGraph::encode(const Dim& length) {
  Stack stack{.name = "encoder",
              .spec = spec_.encoder,
              .mask = mask_,
              .position_ids = position_ids_,
              .segments = segments_};
  Value* types = nullptr;
  if (spec_.embedding.token_types > 0) types = optional_input("token_type_ids", {batch_, length}, 0);
  prepare_positions(b_, stack, ids_);
  last_ =
      run_stack(b_, stack, embed_tokens(b_, stack, ids_, types), has_both(spec_) ? encoder_hidden_ : hidden_);
}

void ModelGraph::encode_image() {
  const auto& e = spec_.embedding;
  b_.graph.set_source("pixel_values");
  Value* pixels =
      b_.graph.input("pixel_values", {DType::f32, {batch_, e.channels, e.image_size, e.image_size}});
  const Stack stack{.name = "encoder", .spec = spec_.encoder};
  last_ = run_stack(b_, stack, embed_patches(b_, stack, pixels), hidden_);
}

void ModelGraph::decode(Value* ids) {
  Stack stack{.name = "decoder", .spec = spec_.decoder, .causal = true};
  if (has_both(spec_))
    stack.memory = last_, stack.memory_mask = mask_;
  else
    stack.mask = mask_, stack.position_ids = position_ids_, stack.segments = segments_;
  decode(stack, ids);
}

void ModelGraph::decode(Stack& stack, Value* ids) {
  prepare_positions(b_, stack, ids);
  last_ = run_stack(b_, stack, embed_tokens(b_, stack, ids, nullptr), hidden_);
}

void ModelGraph::output_all(std::string_view name, const std::vector<Value*>& values) {
  for (size_t i = 0; i < values.size(); ++i) b_.graph.output(fmt::format("{}.{}", name, i), values[i]);
}

}  // namespace smelt
