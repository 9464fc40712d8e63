#include "frontend/cached_graphs.h"

#include "frontend/blocks/guided_choice.h"
#include "frontend/model_checks.h"
#include "frontend/model_graph.h"
#include "frontend/symbol_bounds.h"
#include "frontend/tensor_parallel.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

const Place kMemoryMask = {"decoder.cross.mask"};
constexpr double kAllTokens = -1;  // a length that means T

/// One entry as it grows.
class CachedGraph : ModelGraph {
 public:
  CachedGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters,
              const char* name)
      : ModelGraph(module, spec, options, adapters, name, {}) {}

  /// Runs the encoder and leaves what the decoder reads of it in its cache.
  void add_encode() {
    read_sources();
    const Cache memory = cache_of("S");
    remember_mask(memory);
    const Stack stack{.name = "decoder", .spec = spec_.decoder, .memory = last_, .memory_cache = &memory};
    for (int64_t block = 0; block < spec_.decoder.layers; ++block) remember_memory(b_, stack, block);
    give(port::source_length, b_.graph.extent(ids_->shape()[1], DType::i32));
  }

  /// Adds the entry that reads more tokens after those that were read before.
  void add_decode() {
    if (rings()) length_ = Dim::symbol("R");
    ids_ = input(has_both(spec_) ? port::decoder_input_ids : port::input_ids);
    Cache tokens = cache_of("T");
    tokens.past = input(port::past_length);
    set_id_range(*tokens.past->node(), {.below = tokens.capacity});  // one more token has room
    decode_behind(tokens, batch_);
    last_ = last_tokens(last_, input_of_lengths());
    give(port::logits, row_logits());
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
      sample_tokens(b_, found, token_choice_inputs(b_, tokens.rows, tokens.past));
    put_rows(b_.graph, state::next_past, b_.graph.add(tokens.past, b_.graph.like(tokens.past, 1)));
    give(port::rows, b_.graph.extent(batch_, DType::i32));
  }

  /// Some more tokens of one row, whose cache is in pages; the last one's logits where they are wanted.
  void add_read_pages(bool gives_logits) {
    batch_ = 1;
    ids_ = input(port::input_ids);
    Value* table = input_of_pages();
    Value* past = input_of_past();
    Value* lengths = input_of_lengths();
    Value* all = b_.graph.broadcast(b_.graph.extent(length_, DType::i32), {}, lengths->shape());
    Value* own = b_.graph.select(b_.graph.eq(lengths, b_.graph.like(lengths, kAllTokens)), all, lengths);
    decode_behind(paged_cache(b_, options_.cache_pages, table, past, length_, own), batch_);
    if (!gives_logits) return give(port::rows, b_.graph.extent(length_, DType::i32));
    last_ = last_tokens(last_, lengths);
    give(port::logits, row_logits());
  }

  /// One token of each row.
  void add_step_pages() {
    ids_ = decode_input(b_, port::input_ids, sizes(1));
    read_one_each();
  }

  /// The same, and each row's next token; one that is not given is what the row's last run has chosen.
  void add_next_pages() {
    const Symbols& symbols = b_.graph.module().symbols;
    const int64_t slots = symbols.upper(batch_);
    declare_token_states(b_, slots, symbols.upper(length_));
    Value* given = tokens_or_none(b_, port::input_ids, sizes(1));
    Value* own = input(port::slots);
    set_id_range(*own->node(), {.below = slots});
    b_.graph.set_source("next.token");
    Value* chosen =
        within(b_.graph, b_.graph.gather(b_.graph.state(state::next_token), own), spec_.vocab_size);
    ids_ = b_.graph.select(b_.graph.lt(given, b_.graph.like(given, 0)), chosen, given);
    const Read read = read_one_each();
    TokenChoice choice = token_choice_inputs(b_, own, read.past);
    choice.any_slots = true;
    sample_tokens(b_, read.logits, choice);
  }

  /// Adds the entry that reads any number of tokens of each of several rows, and samples the next token of
  /// each. A token is read as a row of one token, whose cache is that of its row: all keys and values of the
  /// run are stored before they are read, so a token sees those before it in the same run.
  void add_mixed_pages() {
    const Dim rows = batch_;
    batch_ = Dim::symbol("M");
    const Symbols& symbols = b_.graph.module().symbols;
    declare_token_states(b_, symbols.upper(rows), symbols.upper(length_));
    const Extents extents = {
        {Extent::rows, rows}, {Extent::run_tokens, batch_}, {Extent::row_pages, row_pages()}};
    const auto number = [&](const DecodePort& port, IdRange range) {
      Value* made = decode_input(b_, port, extents);
      set_id_range(*made->node(), range);
      return made;
    };
    Value* given = number(port::token_ids, {.below = spec_.vocab_size, .ignored = -1});
    Value* row = number(port::token_rows, {.below = symbols.upper(rows), .ignored = -1});
    Value* past = number(port::token_pasts, {.below = symbols.upper(length_)});
    Value* table = number(port::pages, {.below = options_.cache_pages});
    Value* last = number(port::last_tokens, {.below = symbols.upper(batch_)});
    Value* slots = number(port::slots, {.below = symbols.upper(rows), .ignored = -1});
    GraphBuilder& g = b_.graph;
    Value* kept = g.convert(g.lt(g.like(row, -1), row), DType::i32);
    row = within(g, row, symbols.upper(rows));
    Value* slot = within(g, g.gather(slots, row), symbols.upper(rows));
    g.set_source("next.token");
    Value* chosen = within(g, g.gather(g.state(state::next_token), slot), spec_.vocab_size);
    ids_ = g.select(g.lt(with_ones(g, given), g.like(chosen, 0)), chosen, with_ones(g, given));
    decode_behind(paged_cache(b_, options_.cache_pages, g.gather(table, row), past, 1, kept), batch_);
    last_ = g.gather(last_, last);
    batch_ = rows;
    Value* found = row_logits();
    give(port::logits, found);
    TokenChoice choice = token_choice_inputs(b_, slots, g.gather(past, last));
    choice.any_slots = true;
    sample_tokens(b_, found, choice);
  }

  /// Adds the entry that sets the biases and penalties for a slot's next row.
  void add_begin_pages() {
    begin_choice(b_);
    give(port::rows, b_.graph.scalar(1, DType::i32));
  }

  /// The same for the beams of some sentences.
  void add_next_beams(bool guided) {
    const Dim sentences = Dim::symbol("N"), beams = Dim::symbol("K");
    const Extents of_beams = {{Extent::sentences, sentences}, {Extent::beams, beams}};
    decode_input(b_, port::beams, of_beams);
    batch_ = sentences * beams;
    Cache tokens = cache_to_choose_from(guided);
    declare_beam_states(b_, tokens.slots, tokens.capacity);
    const TokenChoice choice = guided ? TokenChoice{.rows = tokens.rows, .past = tokens.past}
                                      : token_choice_inputs(b_, tokens.rows, tokens.past);
    tokens.row_of_place = beam_rows(b_, choice);
    decode_behind(tokens, sentences, beams);
    Value* found = row_logits();
    Value* ends = tokens_or_none(b_, port::ends, of_beams);
    if (guided)
      choose_guided_beams(b_, found, choice, text_choice_inputs(b_, tokens.rows), ends, sentences, beams);
    else
      choose_beams(b_, found, choice, ends, sentences, beams);
    give(port::rows, b_.graph.extent(batch_, DType::i32));
  }

  /// Rows of what @decode keeps, or @encode, at some places become those of others.
  void add_reorder(bool sources) {
    if (sources) length_ = Dim::symbol("S");
    Value *from = input(port::from), *to = input(port::to), *places = input(port::places);
    std::vector<std::string> names;
    for (const State& state : b_.graph.module().states)
      if (is_cache(state.name, sources)) names.push_back(state.name);
    for (const std::string& name : names) move_rows(b_, name, from, to, places);
    give(port::rows_moved, b_.graph.extent(batch_, DType::i32));
  }

 private:
  /// Returns the sizes of a run of `tokens` tokens per row.
  Extents sizes(const Dim& tokens) {
    return {{Extent::rows, batch_},
            {Extent::tokens, tokens},
            {Extent::places, tokens},
            {Extent::row_pages, row_pages()}};
  }
  /// Pages of the longest row.
  int64_t row_pages() { return (b_.graph.module().symbols.upper(length_) + kPageTokens - 1) / kPageTokens; }
  Value* input(const DecodePort& port) { return decode_input(b_, port, sizes(length_)); }
  Value* input_of_lengths() {
    return optional_input(std::string(port::lengths), port::lengths.shape.of(sizes(length_)), kAllTokens);
  }
  void give(const DecodePort& port, Value* value) { b_.graph.output(std::string(port), value); }

  /// Computes the decoder's last hidden state of ids_, which follow the cached tokens; `readers` consecutive
  /// rows read each of the sources.
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

  /// Makes the cache and the ids of an entry that continues with the tokens sampled by its previous run.
  Cache cache_to_choose_from(bool guided) {
    Cache tokens = cache_of("T");
    declare_token_states(b_, tokens.slots, tokens.capacity);
    declare_states(b_, {{Extent::slots, tokens.slots}}, {state::next_past});
    const int64_t source = has_both(spec_) ? cache_of("S").capacity : tokens.capacity + 1;
    if (guided) declare_text_states(b_, tokens.slots, tokens.capacity, source);
    b_.graph.set_source("next.token");
    tokens.past = rows_of_state(b_, state::next_past, batch_, tokens.capacity);
    ids_ = rows_of_state(b_, state::next_token, batch_, spec_.vocab_size);
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
    give(port::logits, found);
    return {past, found};
  }

  /// Pages of each row, as many as its longest text has.
  Value* input_of_pages() {
    Value* table = input(port::pages);
    set_id_range(*table->node(), {.below = options_.cache_pages});
    return table;
  }

  /// Adds the input of past lengths, which leaves room for one more token.
  Value* input_of_past() {
    Value* past = input(port::past_length);
    set_id_range(*past->node(), {.below = b_.graph.module().symbols.upper(length_)});
    return past;
  }

  /// Returns the value of each row's last token, [B,1,...]; tokens after its length are padding.
  Value* last_tokens(Value* x, Value* lengths) {
    GraphBuilder& g = b_.graph;
    Value* all = g.broadcast(g.extent(length_, DType::i32), {}, lengths->shape());
    Value* own = g.select(g.eq(lengths, g.like(lengths, kAllTokens)), all, lengths);
    Value* begin = g.mul(g.iota(lengths->type, 0), all);
    Value* last = g.add(begin, g.sub(own, g.like(own, 1)));
    const Dim width = x->shape()[2];
    return g.reshape(g.gather(g.reshape(x, {batch_ * length_, width}), last), {batch_, 1, width});
  }

  /// Returns the logits of one token of each row, [B,V]: all words on every rank, so that all ranks choose
  /// the same token.
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

  /// Returns whether a state is one of @encode's, or one of @decode's.
  static bool is_cache(std::string_view name, bool sources) {
    return name.starts_with(kCachePrefix) && (name.find("cross.") != name.npos) == sources;
  }

  /// Stores the mask of all sources up to the longest; it is 0 after the end of each.
  void remember_mask(const Cache& memory) {
    Value* mask = mask_ ? mask_ : b_.graph.constant(1, ids_->type);
    Value* none = b_.graph.constant(0, {DType::i32, {batch_, memory.capacity}});
    Value* all = b_.graph.insert(none, mask, {b_.graph.scalar(0, DType::i32)}, {1});
    remember(b_, memory, kMemoryMask, b_.graph.reshape(all, {batch_, memory.capacity, 1}));
  }
};

void add_pages(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters) {
  if (const int64_t tokens = options.step_tokens.value_or(0);
      tokens > 0 && options.has_sampler.value_or(false)) {
    bound_run_tokens(tokens, module.symbols);
    CachedGraph(module, spec, options, adapters, entry::mixed_pages).add_mixed_pages();
    return CachedGraph(module, spec, options, adapters, entry::begin_pages).add_begin_pages();
  }
  CachedGraph(module, spec, options, adapters, entry::read_pages).add_read_pages(false);
  CachedGraph(module, spec, options, adapters, entry::decode_pages).add_read_pages(true);
  if (!options.has_sampler.value_or(false))
    return CachedGraph(module, spec, options, adapters, entry::step_pages).add_step_pages();
  CachedGraph(module, spec, options, adapters, entry::next_pages).add_next_pages();
  CachedGraph(module, spec, options, adapters, entry::begin_pages).add_begin_pages();
}

}  // namespace

/// The states of a cache are declared by who writes them first.
void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters) {
  if (options.cache_pages > 0) return add_pages(module, spec, options, adapters);
  if (const auto rings = ring_bounds(spec, options, module.symbols)) bound_runs(*rings, module.symbols);
  if (has_both(spec)) CachedGraph(module, spec, options, adapters, entry::encode).add_encode();
  CachedGraph(module, spec, options, adapters, entry::decode).add_decode();
  if (options.has_sampler.value_or(false)) {
    bound_beams(module.symbols);
    for (const bool guided : {false, true}) {
      CachedGraph(module, spec, options, adapters, guided ? entry::next_guided : entry::next)
          .add_next(guided);
      CachedGraph(module, spec, options, adapters, guided ? entry::next_beams_guided : entry::next_beams)
          .add_next_beams(guided);
    }
  }
  CachedGraph(module, spec, options, adapters, entry::reorder).add_reorder(false);
  if (has_both(spec)) CachedGraph(module, spec, options, adapters, entry::reorder_sources).add_reorder(true);
}

}  // namespace smelt
