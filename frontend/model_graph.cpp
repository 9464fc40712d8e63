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
  std::vector<Value*> labels;
  for (const LogitsPort& port : logits_ports(spec_))
    labels.push_back(input(std::string(port.labels), type_of_labels(port)));
  if (has_decoder(spec_)) decode(has_both(spec_) ? teacher_forced(b_, labels[0]) : ids_);
  const LossOutputs loss = loss_of(labels);
  b_.graph.output("loss_sum", loss.loss_sum);
  b_.graph.output("token_count", loss.token_count);
}

Type ModelGraph::type_of_labels(const LogitsPort& port) const {
  if (has_classes(spec_)) return label_type(spec_, batch_);
  const bool tokens = port.labels == "labels";
  return {DType::i32, tokens ? Shape{batch_, length_} : Shape{batch_}};
}

LossOutputs ModelGraph::loss_of(llvm::ArrayRef<Value*> labels) {
  const std::vector<Value*> found = head_logits();
  if (has_classes(spec_)) return class_loss(b_, found[0], labels[0]);
  const bool spans = spec_.head.kind == HeadKind::spans;
  std::vector<LossOutputs> parts;
  for (size_t i = 0; i < found.size(); ++i)
    parts.push_back(cross_entropy_loss(
        b_, found[i], spans ? span_targets(b_, labels[i], length_) : token_targets(labels[i])));
  return sum_of_means(b_, parts, spans ? 0.5 : 1);
}

Value* ModelGraph::token_targets(Value* labels) {
  if (!has_decoder(spec_) || has_both(spec_)) return labels;
  // With segments, only some labels are used, so their uses do not determine their range.
  if (segments_) set_id_range(*labels->node(), {spec_.vocab_size, spec_.criterion.ignore_index});
  return next_tokens(b_, labels, segments_);
}

std::vector<Value*> ModelGraph::head_logits() {
  std::vector<Value*> found = logits(b_, last_);
  if (spec_.head.kind == HeadKind::choices) found[0] = b_.graph.reshape(found[0], {batch_, choices_});
  return found;
}

void ModelGraph::add_logits() {
  read_sources();
  if (has_decoder(spec_))
    decode(has_both(spec_) ? input(std::string(port::decoder_input_ids), {batch_, length_}) : ids_);
  const std::vector<Value*> found = head_logits();
  const std::vector<LogitsPort> ports = logits_ports(spec_);
  for (size_t i = 0; i < found.size(); ++i) b_.graph.output(std::string(ports[i].logits), found[i]);
  if (!found.empty() && !options_.hidden_states) return;
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

Shape ModelGraph::shape_of_texts(const Dim& length) const {
  return spec_.head.kind == HeadKind::choices ? Shape{batch_, choices_, length} : Shape{batch_, length};
}

Value* ModelGraph::as_rows(Value* texts) {
  const Shape& shape = texts->shape();
  return shape.size() == 2 ? texts : b_.graph.reshape(texts, {shape[0] * shape[1], shape[2]});
}

bool ModelGraph::masked() const {
  return options_.attention_mask.value_or(has_encoder(spec_)) && !has_patches(spec_);
}

void ModelGraph::read_sources() {
  if (has_patches(spec_)) return encode_image();
  const Dim length = has_both(spec_) ? Dim::symbol("S") : length_;
  ids_ = as_rows(input(std::string(port::input_ids), shape_of_texts(length)));
  if (masked()) mask_ = as_rows(optional_input(std::string(port::attention_mask), shape_of_texts(length), 1));
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
  if (spec_.embedding.token_types > 0)
    types = as_rows(optional_input("token_type_ids", shape_of_texts(length), 0));
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
