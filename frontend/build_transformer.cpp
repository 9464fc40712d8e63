#include "frontend/build_transformer.h"

#include <fmt/format.h>

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/guided_choice.h"
#include "frontend/hugging_face.h"
#include "frontend/model_checks.h"
#include "frontend/symbol_bounds.h"
#include "frontend/tensor_parallel.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"
#include "runtime/generation/cache_pages.h"

namespace smelt {
namespace {

const Place kMemoryMask = {"decoder.cross.mask"};
constexpr double kAllTokens = -1;  // a length that stands for T

/// One graph of the model as it grows.
class ModelGraph {
 public:
  ModelGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters,
             const char* name, TransformerSpec::Dropout dropout)
      : spec_(spec),
        options_(options),
        b_{.graph = GraphBuilder(module.add_graph(name)),
           .spec = spec,
           .names = ParameterNames(spec),
           .dropout = dropout,
           .cache_type = options.cache_type,
           .adapters = adapters,
           .adapter_dropout = std::string_view(name) == "loss" && adapters ? adapters->config.dropout : 0} {}

  void add_loss() {
    read_sources();
    labels_ =
        input("labels", has_classes(spec_) ? label_type(spec_, batch_) : Type{DType::i32, {batch_, length_}});
    if (has_decoder(spec_)) decode(has_both(spec_) ? teacher_forced(b_, labels_) : ids_);
    const bool next = has_decoder(spec_) && !has_both(spec_);
    // Where only those within a segment count, their use does not tell what they may be.
    if (next && segments_) set_id_range(*labels_->node(), {spec_.vocab_size, spec_.criterion.ignore_index});
    Value* found = logits(b_, last_);
    const LossOutputs loss =
        has_classes(spec_)
            ? class_loss(b_, found, labels_)
            : cross_entropy_loss(b_, found, next ? next_tokens(b_, labels_, segments_) : labels_);
    b_.graph.output("loss_sum", loss.loss_sum);
    b_.graph.output("token_count", loss.token_count);
  }

  void add_logits() {
    read_sources();
    if (has_decoder(spec_)) decode(has_both(spec_) ? input("decoder_input_ids", {batch_, length_}) : ids_);
    Value* found = logits(b_, last_);
    if (found) b_.graph.output("logits", found);
    if (found && !options_.hidden_states) return;
    b_.graph.output("last_hidden_state", last_);
    if (Value* pool = spec_.head.pooler ? pooled(b_, last_) : nullptr) b_.graph.output("pooler_output", pool);
    if (!options_.hidden_states) return;
    output_all("encoder_hidden", encoder_hidden_);
    output_all("hidden", hidden_);
  }

  /// Runs the encoder and leaves what the decoder reads of it in its cache.
  void add_encode() {
    read_sources();
    const Cache memory = cache_of("S");
    remember_mask(memory);
    const Stack stack{.name = "decoder", .spec = spec_.decoder, .memory = last_, .memory_cache = &memory};
    for (int64_t block = 0; block < spec_.decoder.layers; ++block) remember_memory(b_, stack, block);
    b_.graph.output("source_length", b_.graph.extent(ids_->shape()[1], DType::i32));
  }

  /// Some more tokens behind those that were read before.
  void add_decode() {
    if (rings()) length_ = Dim::symbol("R");
    ids_ = input(has_both(spec_) ? "decoder_input_ids" : "input_ids", {batch_, length_});
    Cache tokens = cache_of("T");
    tokens.past = input("past_length", {batch_});
    set_id_range(*tokens.past->node(), {.below = tokens.capacity});  // there is room for a token behind
    decode_behind(tokens, batch_);
    last_ = last_tokens(last_, optional_input("lengths", {batch_}, kAllTokens));
    b_.graph.output("logits", row_logits());
  }

  /// One token more of each row, which the run before has chosen; a guided choice looks at the text.
  void add_next(bool guided) {
    Cache tokens = cache_to_choose_from(guided);
    decode_behind(tokens, batch_);
    Value* found = row_logits();
    if (guided)
      choose_guided_tokens(b_, found, drawing_inputs(b_, tokens.rows, tokens.past),
                           text_choice_inputs(b_, tokens.rows));
    else
      choose_tokens(b_, found, token_choice_inputs(b_, tokens.rows, tokens.past));
    put_rows(b_.graph, kNextPast, b_.graph.add(tokens.past, b_.graph.like(tokens.past, 1)));
    b_.graph.output("rows", b_.graph.extent(batch_, DType::i32));
  }

  /// Some more tokens of one row, whose cache is in pages; the last one's logits where they are wanted.
  void add_read_pages(bool gives_logits) {
    batch_ = 1;
    ids_ = input("input_ids", {batch_, length_});
    Value* table = input_of_pages();
    Value* past = input_of_past();
    Value* lengths = optional_input("lengths", {batch_}, kAllTokens);
    Value* all = b_.graph.broadcast(b_.graph.extent(length_, DType::i32), {}, lengths->shape());
    Value* own = b_.graph.select(b_.graph.eq(lengths, b_.graph.like(lengths, kAllTokens)), all, lengths);
    decode_behind(paged_cache(b_, options_.cache_pages, table, past, length_, own), batch_);
    if (!gives_logits) return b_.graph.output("rows", b_.graph.extent(length_, DType::i32));
    last_ = last_tokens(last_, lengths);
    b_.graph.output("logits", row_logits());
  }

  /// One token of each row.
  void add_step_pages() {
    ids_ = input("input_ids", {batch_, 1});
    read_one_each();
  }

  /// The same, and each row's next token; one that is not given is what the row's last run has chosen.
  void add_next_pages() {
    const Symbols& symbols = b_.graph.module().symbols;
    const int64_t slots = symbols.upper(batch_);
    declare_token_states(b_, slots, symbols.upper(length_));
    Value* given = tokens_or_none(b_, "input_ids", {batch_, 1});
    Value* own = input("slots", {batch_});
    set_id_range(*own->node(), {.below = slots});
    b_.graph.set_source("next.token");
    Value* chosen = within(b_.graph, b_.graph.gather(b_.graph.state(kNextToken), own), spec_.vocab_size);
    ids_ = b_.graph.select(b_.graph.lt(given, b_.graph.like(given, 0)), chosen, given);
    const Read read = read_one_each();
    TokenChoice choice = token_choice_inputs(b_, own, read.past);
    choice.any_slots = true;
    choose_tokens(b_, read.logits, choice);
  }

  /// What the tokens of a slot's next row are chosen by.
  void add_begin_pages() {
    begin_choice(b_);
    b_.graph.output("rows", b_.graph.scalar(1, DType::i32));
  }

  /// The same for the beams of some sentences.
  void add_next_beams(bool guided) {
    const Dim sentences = Dim::symbol("N"), beams = Dim::symbol("K");
    input("beams", {sentences, beams});
    batch_ = sentences * beams;
    Cache tokens = cache_to_choose_from(guided);
    declare_beam_states(b_, tokens.slots, tokens.capacity);
    const TokenChoice choice = guided ? TokenChoice{.rows = tokens.rows, .past = tokens.past}
                                      : token_choice_inputs(b_, tokens.rows, tokens.past);
    tokens.row_of_place = beam_rows(b_, choice);
    decode_behind(tokens, sentences, beams);
    Value* found = row_logits();
    Value* ends = tokens_or_none(b_, "ends", {sentences, kEndTokens});
    if (guided)
      choose_guided_beams(b_, found, choice, text_choice_inputs(b_, tokens.rows), ends, sentences, beams);
    else
      choose_beams(b_, found, choice, ends, sentences, beams);
    b_.graph.output("rows", b_.graph.extent(batch_, DType::i32));
  }

  /// Rows of what @decode keeps, or @encode, at some places become those of others.
  void add_reorder(bool sources) {
    const Dim length = sources ? Dim::symbol("S") : length_;
    Value *from = input("from", {batch_}), *to = input("to", {batch_}), *places = input("places", {length});
    std::vector<std::string> names;
    for (const State& state : b_.graph.module().states)
      if (is_cache(state.name, sources)) names.push_back(state.name);
    for (const std::string& name : names) move_rows(b_, name, from, to, places);
    b_.graph.output("rows_moved", b_.graph.extent(batch_, DType::i32));
  }

 private:
  /// The decoder's last hidden state of ids_, which follow what its caches hold; `readers` rows, one behind
  /// the other, read each of the sources.
  void decode_behind(const Cache& tokens, const Dim& sources, const Dim& readers = 1) {
    Stack stack{.name = "decoder", .spec = spec_.decoder, .causal = true, .cache = &tokens};
    Cache memory, ring;
    if (const auto bounds = rings()) {
      b_.graph.set_source("decoder.ring");
      ring = ring_cache(b_.graph, tokens, bounds->places, ids_->shape()[1]);
      stack.ring = &ring;
    }
    if (has_both(spec_)) {
      memory = cache_of("S");
      memory.rows = b_.graph.iota({DType::i32, {sources}}, 0), memory.readers = readers;
      stack.memory_cache = &memory;
      stack.memory_mask = b_.graph.reshape(recall(b_, memory, kMemoryMask), {sources, memory.capacity});
    }
    decode(stack, ids_);
  }

  /// The cache and the ids of an entry that goes on from what its run before has chosen.
  Cache cache_to_choose_from(bool guided) {
    Cache tokens = cache_of("T");
    declare_token_states(b_, tokens.slots, tokens.capacity);
    declare_state(b_, kNextPast, Role::cache, DType::i32, {tokens.slots});
    const int64_t source = has_both(spec_) ? cache_of("S").capacity : tokens.capacity + 1;
    if (guided) declare_text_states(b_, tokens.slots, tokens.capacity, source);
    b_.graph.set_source("next.token");
    tokens.past = rows_of_state(b_, kNextPast, batch_, tokens.capacity);
    ids_ = rows_of_state(b_, kNextToken, batch_, spec_.vocab_size);
    return tokens;
  }

  /// One token of each row, whose cache is in pages.
  struct Read {
    Value *past, *logits;
  };
  Read read_one_each() {
    Value* table = input_of_pages();
    Value* past = input_of_past();
    decode_behind(paged_cache(b_, options_.cache_pages, table, past, 1, nullptr), batch_);
    Value* found = row_logits();
    b_.graph.output("logits", found);
    return {past, found};
  }

  /// Pages of each row, as many as its longest text has.
  Value* input_of_pages() {
    const int64_t longest = b_.graph.module().symbols.upper(length_);
    Value* table = input("pages", {batch_, (longest + kPageTokens - 1) / kPageTokens});
    set_id_range(*table->node(), {.below = options_.cache_pages});
    return table;
  }

  /// There is room for a token behind.
  Value* input_of_past() {
    Value* past = input("past_length", {batch_});
    set_id_range(*past->node(), {.below = b_.graph.module().symbols.upper(length_)});
    return past;
  }

  Value* input(std::string name, Type type) {
    b_.graph.set_source(name);
    return b_.graph.input(std::move(name), std::move(type));
  }
  Value* input(std::string name, Shape shape) {
    return input(std::move(name), Type{DType::i32, std::move(shape)});
  }

  /// An input that holds `fill` everywhere where it is not given.
  Value* optional_input(std::string name, Shape shape, double fill) {
    Value* value = input(std::move(name), std::move(shape));
    value->node()->attributes["optional"] = true;
    value->node()->attributes["fill"] = fill;
    return value;
  }

  bool masked() const { return options_.attention_mask.value_or(has_encoder(spec_)) && !has_patches(spec_); }

  /// The inputs of the first stack, and the encoder where there is one.
  void read_sources() {
    if (has_patches(spec_)) return encode_image();
    const Dim length = has_both(spec_) ? Dim::symbol("S") : length_;
    ids_ = input("input_ids", {batch_, length});
    if (masked()) mask_ = optional_input("attention_mask", {batch_, length}, 1);
    if (options_.segment_ids) segments_ = optional_input("segment_ids", {batch_, length}, 0);
    if (options_.position_ids) position_ids_ = given_positions(length);
    if (has_encoder(spec_)) encode(length);
  }

  /// A position of -1 is a token's place in its row.
  Value* given_positions(const Dim& length) {
    constexpr double kOwnPlace = -1;
    Value* given = optional_input("position_ids", {batch_, length}, kOwnPlace);
    Value* places = b_.graph.iota(given->type, 1);
    return b_.graph.select(b_.graph.eq(given, b_.graph.like(given, kOwnPlace)), places, given);
  }

  void encode(const Dim& length) {
    Stack stack{.name = "encoder",
                .spec = spec_.encoder,
                .mask = mask_,
                .position_ids = position_ids_,
                .segments = segments_};
    Value* types = nullptr;
    if (spec_.embedding.token_types > 0) types = optional_input("token_type_ids", {batch_, length}, 0);
    prepare_positions(b_, stack, ids_);
    last_ = run_stack(b_, stack, embed_tokens(b_, stack, ids_, types),
                      has_both(spec_) ? encoder_hidden_ : hidden_);
  }

  void encode_image() {
    const auto& e = spec_.embedding;
    b_.graph.set_source("pixel_values");
    Value* pixels =
        b_.graph.input("pixel_values", {DType::f32, {batch_, e.channels, e.image_size, e.image_size}});
    const Stack stack{.name = "encoder", .spec = spec_.encoder};
    last_ = run_stack(b_, stack, embed_patches(b_, stack, pixels), hidden_);
  }

  void decode(Value* ids) {
    Stack stack{.name = "decoder", .spec = spec_.decoder, .causal = true};
    if (has_both(spec_))
      stack.memory = last_, stack.memory_mask = mask_;
    else
      stack.mask = mask_, stack.position_ids = position_ids_, stack.segments = segments_;
    decode(stack, ids);
  }

  void decode(Stack& stack, Value* ids) {
    prepare_positions(b_, stack, ids);
    last_ = run_stack(b_, stack, embed_tokens(b_, stack, ids, nullptr), hidden_);
  }

  /// What each row's last token has become, [B,1,...]; tokens behind its length are padding.
  Value* last_tokens(Value* x, Value* lengths) {
    GraphBuilder& g = b_.graph;
    Value* all = g.broadcast(g.extent(length_, DType::i32), {}, lengths->shape());
    Value* own = g.select(g.eq(lengths, g.like(lengths, kAllTokens)), all, lengths);
    Value* begin = g.mul(g.iota(lengths->type, 0), all);
    Value* last = g.add(begin, g.sub(own, g.like(own, 1)));
    const Dim width = x->shape()[2];
    return g.reshape(g.gather(g.reshape(x, {batch_ * length_, width}), last), {batch_, 1, width});
  }

  /// Of one token of each row, [B,V]: all words on every rank, so that each chooses by itself what all
  /// choose.
  Value* row_logits() {
    Value* found = logits(b_, last_);
    if (is_tensor_parallel(b_.graph.module().mesh())) found->sharding = Sharding{{{}, {}, {}}, {}};
    return b_.graph.reshape(found, {batch_, spec_.vocab_size});
  }

  std::optional<RingBounds> rings() { return ring_bounds(spec_, options_, b_.graph.module().symbols); }

  /// The cache of a stack's tokens, or of the memory that it reads.
  Cache cache_of(const char* length) {
    const Symbols& symbols = b_.graph.module().symbols;
    return {.slots = symbols.upper(Dim::symbol("B")),
            .capacity = symbols.upper(Dim::symbol(length)),
            .rows = b_.graph.iota({DType::i32, {batch_}}, 0)};
  }

  /// Whether a state is one of @encode's, or one of @decode's.
  static bool is_cache(std::string_view name, bool sources) {
    return name.starts_with(kCachePrefix) && (name.find("cross.") != name.npos) == sources;
  }

  /// The mask of all sources up to the longest; 0 behind the end of each.
  void remember_mask(const Cache& memory) {
    Value* mask = mask_ ? mask_ : b_.graph.constant(1, ids_->type);
    Value* none = b_.graph.constant(0, {DType::i32, {batch_, memory.capacity}});
    Value* all = b_.graph.insert(none, mask, {b_.graph.scalar(0, DType::i32)}, {1});
    remember(b_, memory, kMemoryMask, b_.graph.reshape(all, {batch_, memory.capacity, 1}));
  }

  void output_all(std::string_view name, const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) b_.graph.output(fmt::format("{}.{}", name, i), values[i]);
  }

  const TransformerSpec& spec_;
  const BuildOptions& options_;
  BlockBuilder b_;
  Dim batch_ = Dim::symbol("B");
  Dim length_ = Dim::symbol("T");
  Value *ids_ = nullptr, *mask_ = nullptr, *position_ids_ = nullptr, *segments_ = nullptr;
  Value* labels_ = nullptr;
  Value* last_ = nullptr;  // the last hidden state of the last stack
  std::vector<Value*> encoder_hidden_, hidden_;
};

void add_pages(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters) {
  ModelGraph(module, spec, options, adapters, kReadPages, {}).add_read_pages(false);
  ModelGraph(module, spec, options, adapters, kDecodePages, {}).add_read_pages(true);
  if (!options.chooses_tokens.value_or(false))
    return ModelGraph(module, spec, options, adapters, kStepPages, {}).add_step_pages();
  ModelGraph(module, spec, options, adapters, kNextPages, {}).add_next_pages();
  ModelGraph(module, spec, options, adapters, kBeginPages, {}).add_begin_pages();
}

/// The states of a cache are declared by who writes them first.
void add_caches(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                Adapters* adapters) {
  if (options.cache_pages > 0) return add_pages(module, spec, options, adapters);
  if (const auto rings = ring_bounds(spec, options, module.symbols)) bound_runs(*rings, module.symbols);
  if (has_both(spec)) ModelGraph(module, spec, options, adapters, "encode", {}).add_encode();
  ModelGraph(module, spec, options, adapters, "decode", {}).add_decode();
  if (options.chooses_tokens.value_or(false)) {
    bound_beams(module.symbols);
    for (const bool guided : {false, true}) {
      ModelGraph(module, spec, options, adapters, guided ? "next_guided" : "next", {}).add_next(guided);
      ModelGraph(module, spec, options, adapters, guided ? "next_beams_guided" : "next_beams", {})
          .add_next_beams(guided);
    }
  }
  ModelGraph(module, spec, options, adapters, "reorder", {}).add_reorder(false);
  if (has_both(spec)) ModelGraph(module, spec, options, adapters, "reorder_sources", {}).add_reorder(true);
}

TransformerSpec::Dropout dropout_of(const TransformerSpec& spec, const BuildOptions& options) {
  if (!options.dropout) return spec.dropout;
  const double p = *options.dropout;
  if (!(p >= 0 && p <= 0.999)) fail("dropout {}: expected a probability from 0 to 0.999", p);
  return {p, p, p, spec.dropout.activation > 0 ? p : 0, p};
}

}  // namespace

bool keeps_caches(const TransformerSpec& given, const BuildOptions& options) {
  TransformerSpec spec = given;
  complete(spec);
  return options.caches.value_or(problems_with_caches(spec, options).empty());
}

std::unique_ptr<Module> build_transformer(const TransformerSpec& given, const BuildOptions& options) {
  TransformerSpec spec = given;
  complete(spec);
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
    ModelGraph(*module, spec, options, adapters, "loss", dropout_of(spec, options)).add_loss();
    ModelGraph(*module, spec, options, adapters, "evaluate", {}).add_loss();
  }
  ModelGraph(*module, spec, options, adapters, "logits", {}).add_logits();
  if (keeps_caches(spec, options)) add_caches(*module, spec, options, adapters);
  if (adapters) finish_adapters(*module, spec, *adapters, options.training);
  const std::optional<Json> config = config_from_spec(spec);
  module->description = describe_model(spec, config.value_or(nullptr), Json::object()).dump();
  return module;
}

}  // namespace smelt
