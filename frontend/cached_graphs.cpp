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
constexpr double kOwnRow = -1;     // a row of the caches that means the input's row
constexpr int64_t kNoAdapter = -1;

/// One entry as it grows.
class CachedGraph : ModelGraph {
 public:
  CachedGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options,
              AdaptersOfGraphs adapters, const char* name)
      : ModelGraph(module, spec, options, adapters.adapters, name, {}) {
    b_.adapter_slots = adapters.slots;
  }

  /// Runs the encoder and leaves what the decoder reads of it in its cache.
  void add_encode() {
    read_sources();
    Cache memory = cache_of("S");
    memory.rows = rows_of_sources(memory);
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
    read_adapters();
    decode_behind(tokens, batch_);
    last_ = last_tokens(last_, input_of_lengths());
    give(port::logits, row_logits());
  }

  /// Adds the entry that reads one token of each row, whose earlier tokens may be in the slots of other rows,
  /// and gives the best next tokens.
  void add_decode_beams() {
    ids_ = decode_input(b_, has_both(spec_) ? port::decoder_input_ids : port::input_ids, sizes(1));
    Cache tokens = cache_of("T");
    tokens.past = input_of_past();
    const Extents extents = {{Extent::rows, batch_}, {Extent::capacity, tokens.capacity}};
    tokens.row_of_place = index_input(port::place_rows, extents, tokens.slots);
    read_adapters();
    decode_behind(tokens, batch_);
    Value* found = row_logits();
    give(port::logits, found);
    give_candidates(found);
  }

  /// Does the same for rows whose caches are in pages, without the logits.
  void add_beam_pages() {
    const int64_t slots = b_.graph.module().symbols.upper(batch_);
    ids_ = decode_input(b_, port::input_ids, sizes(1));
    Value* own = index_input(port::slots, sizes(1), slots, true);
    Value* kept = b_.graph.convert(b_.graph.lt(b_.graph.like(own, -1), own), DType::i32);
    Value* past = input_of_past();
    read_adapters();
    decode_behind(paged_cache(b_, options_.cache_pages, input_of_pages(), past, 1, kept), batch_);
    give_candidates(row_logits());
  }

  /// One token more of each row, which the run before has chosen; a guided choice looks at the text.
  void add_next(bool guided) {
    Cache tokens = cache_to_choose_from(guided);
    read_adapters();
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
    read_adapters();
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
  /// `one_row`: a run has one row, instead of any number.
  void add_next_pages(bool one_row) {
    const Symbols& symbols = b_.graph.module().symbols;
    const int64_t slots = symbols.upper(batch_);
    if (one_row) batch_ = 1;
    declare_token_states(b_, slots, symbols.upper(length_));
    Value* given = tokens_or_none(b_, port::input_ids, sizes(1));
    Value* own = index_input(port::slots, sizes(1), slots, true);
    GraphBuilder& g = b_.graph;
    Value* kept = g.convert(g.lt(g.like(own, -1), own), DType::i32);
    g.set_source("next.token");
    Value* chosen = within(g, g.gather(g.state(state::next_token), within(g, own, slots)), spec_.vocab_size);
    ids_ = g.select(g.lt(given, g.like(given, 0)), chosen, given);
    const Read read = read_one_each(kept);
    TokenChoice choice = token_choice_inputs(b_, without_kept(own, read.logits, sizes(1), slots), read.past);
    choice.any_slots = true;
    sample_tokens(b_, read.logits, choice);
  }

  /// Adds the entry that reads any number of tokens of each of several rows, and samples the next token of
  /// each. A token is read as a row of one token, whose cache is that of its row: all keys and values of the
  /// run are stored before they are read, so a token sees those before it in the same run. `tiled`: queries
  /// of prompts are in tiles.
  void add_mixed_pages(bool tiled) {
    const Dim rows = batch_;
    batch_ = Dim::symbol("M");
    const Symbols& symbols = b_.graph.module().symbols;
    declare_token_states(b_, symbols.upper(rows), symbols.upper(length_));
    const Extents extents = mixed_sizes(rows);
    Value* given = index_input(port::token_ids, extents, spec_.vocab_size, true);
    Value* row = index_input(port::token_rows, extents, symbols.upper(rows), true);
    Value* past = index_input(port::token_pasts, extents, symbols.upper(length_));
    Value* table = index_input(port::pages, extents, options_.cache_pages);
    Value* last = index_input(port::last_tokens, extents, symbols.upper(batch_));
    Value* slots = index_input(port::slots, extents, symbols.upper(rows), true);
    Value* adapters = adapters_input(extents);
    GraphBuilder& g = b_.graph;
    Value* kept = g.convert(g.lt(g.like(row, -1), row), DType::i32);
    row = within(g, row, symbols.upper(rows));
    if (adapters) b_.adapter_of_row = g.gather(adapters, row);
    Value* slot = within(g, g.gather(slots, row), symbols.upper(rows));
    g.set_source("next.token");
    Value* chosen = within(g, g.gather(g.state(state::next_token), slot), spec_.vocab_size);
    ids_ = g.select(g.lt(with_ones(g, given), g.like(chosen, 0)), chosen, with_ones(g, given));
    Cache cache = paged_cache(b_, options_.cache_pages, g.gather(table, row), past, 1, kept);
    const QueryTiles queries = tiled ? query_tiles(extents, table, row, past) : QueryTiles();
    if (tiled) cache.queries = &queries;
    decode_behind(cache, batch_);
    last_ = g.gather(last_, last);
    batch_ = rows;
    Value* found = row_logits();
    give(port::logits, found);
    slots = without_kept(slots, found, extents, symbols.upper(rows));
    TokenChoice choice = token_choice_inputs(b_, slots, g.gather(past, last));
    choice.any_slots = true;
    sample_tokens(b_, found, choice);
  }

  /// Adds the entry that samples the tokens of rows whose logits another entry has kept.
  void add_sample_allowed() {
    GraphBuilder& g = b_.graph;
    const int64_t slots = g.module().symbols.upper(batch_);
    declare_token_states(b_, slots, g.module().symbols.upper(length_));
    declare_next_logits(slots);
    Value* own = index_input(port::slots, sizes(1), slots, true);
    TokenChoice choice = token_choice_inputs(b_, own, input_of_past());
    choice.any_slots = true;
    choice.allowed =
        decode_input(b_, port::allowed, {{Extent::rows, batch_}, {Extent::mask_bytes, mask_bytes()}});
    sample_tokens(b_, of_rows(g, state::next_logits, choice), choice);
    give(port::rows, g.extent(batch_, DType::i32));
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
    read_adapters();
    decode_behind(tokens, sentences, beams);
    Value* found = row_logits();
    Value* ends = tokens_or_none(b_, port::ends, of_beams);
    if (guided)
      choose_guided_beams(b_, found, choice, text_choice_inputs(b_, tokens.rows), ends, sentences, beams);
    else
      choose_beams(b_, found, choice, ends, sentences, beams);
    give(port::rows, b_.graph.extent(batch_, DType::i32));
  }

  /// Adds the entry that begins sentences while the beams of others run.
  void add_begin_beams() {
    const Symbols& symbols = b_.graph.module().symbols;
    const int64_t slots = symbols.upper(batch_), capacity = symbols.upper(length_);
    declare_states(b_, {{Extent::slots, slots}, {Extent::capacity, capacity}},
                   {state::next_token, state::next_past, state::beam_sums, state::beam_rows});
    Value* own = index_input(port::slots, sizes(1), slots, true);
    Value* tokens = index_input(port::decoder_input_ids, sizes(1), spec_.vocab_size);
    begin_beams(b_, own, tokens, decode_input(b_, port::sums, sizes(1)), capacity);
    give(port::rows, b_.graph.extent(batch_, DType::i32));
  }

  /// Adds the entry that copies the keys and values of whole pages to other pages.
  void add_copy_pages() {
    Value* from = index_input(port::from_pages, sizes(1), options_.cache_pages);
    Value* to = index_input(port::to_pages, sizes(1), options_.cache_pages);
    Value* offsets = b_.graph.iota({DType::i32, {kPageTokens}}, 0);
    for (const std::string& name : caches(false)) move_rows(b_, name, from, to, offsets);
    give(port::rows_moved, b_.graph.extent(batch_, DType::i32));
  }

  /// Rows of what @decode keeps, or @encode, at some places become those of others.
  void add_reorder(bool sources) {
    if (sources) length_ = Dim::symbol("S");
    Value *from = input(port::from), *to = input(port::to), *places = input(port::places);
    for (const std::string& name : caches(sources)) move_rows(b_, name, from, to, places);
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
  /// Returns the sizes of a mixed run of `rows` rows.
  Extents mixed_sizes(const Dim& rows) {
    return {{Extent::rows, rows},
            {Extent::run_tokens, batch_},
            {Extent::tiles, Dim::symbol("Q")},
            {Extent::row_pages, row_pages()}};
  }
  /// Adds an input of indices in [0, below), or also -1 if `may_lack`.
  Value* index_input(const DecodePort& port, const Extents& extents, int64_t below, bool may_lack = false) {
    Value* made = decode_input(b_, port, extents);
    set_id_range(*made->node(),
                 {.below = below, .ignored = may_lack ? std::optional<int64_t>(-1) : std::nullopt});
    return made;
  }

  /// Adds the optional input of the slot of each row's adapter; null if there are no slots.
  Value* adapters_input(const Extents& extents) {
    if (!b_.adapter_slots) return nullptr;
    Value* given = optional_input(std::string(port::adapters), port::adapters.shape.of(extents), kNoAdapter);
    set_id_range(*given->node(), {.below = b_.adapter_slots->count(), .ignored = kNoAdapter});
    return given;
  }
  /// Lets each row of the batch select an adapter.
  void read_adapters() { b_.adapter_of_row = adapters_input({{Extent::rows, batch_}}); }

  /// Adds the inputs that divide the queries of a mixed run. `table`: pages of the rows; `row` and `past`:
  /// row of each token, and tokens of that row before it.
  QueryTiles query_tiles(const Extents& extents, Value* table, Value* row, Value* past) {
    GraphBuilder& g = b_.graph;
    const Symbols& symbols = g.module().symbols;
    const int64_t tokens = symbols.upper(batch_), rows = symbols.upper(table->shape()[0]),
                  tiles = symbols.upper(Dim::symbol("Q"));
    Value* single = index_input(port::single_tokens, extents, tokens, true);
    Value* first = index_input(port::first_tokens, extents, tokens, true);
    Value* results = index_input(port::token_results, extents, rows + tiles * kTileTokens);
    Value* tile_table = g.gather(table, g.gather(row, within(g, first, tokens)));
    return {part_of(single, 1, past, table), part_of(first, kTileTokens, past, tile_table), results};
  }

  /// Returns the part of the queries that are `count` consecutive tokens each, from `first` (i32[R]) on; -1:
  /// the queries are padding, and see no keys.
  QueryTiles::Part part_of(Value* first, int64_t count, Value* past, Value* table) {
    GraphBuilder& g = b_.graph;
    const Dim rows = first->shape()[0];
    const int64_t tokens = g.module().symbols.upper(batch_);
    const Type type{DType::i32, {rows, count}};
    Value* begin = within(g, first, tokens);
    Value* end = g.sub(g.broadcast(g.extent(batch_, DType::i32), {}, type.shape), g.constant(1, type));
    Value* own = g.min(g.add(g.broadcast(begin, {0}, type.shape), g.iota(type, 1)), end);
    Value* before = g.select(g.lt(first, g.like(first, 0)), g.like(first, static_cast<double>(-count)),
                             g.gather(past, begin));
    return {own, before, lines_of_pages(g, table)};
  }

  /// Stores the logits, f32[rows,V], of rows that have a slot in the input `logits_slots`, which it adds.
  /// Returns `slots` with -1 for these rows, so that the run samples nothing for them.
  Value* without_kept(Value* slots, Value* logits, const Extents& extents, int64_t count) {
    GraphBuilder& g = b_.graph;
    declare_next_logits(count);
    Value* kept = index_input(port::logits_slots, extents, count, true);
    g.update_at(state::next_logits, logits, {kept}, {0});
    return g.select(g.lt(kept, g.like(kept, 0)), slots, g.like(slots, -1));
  }
  void declare_next_logits(int64_t slots) {
    declare_states(b_, {{Extent::slots, slots}, {Extent::vocabulary, spec_.vocab_size}},
                   {state::next_logits});
  }
  /// Bytes of a row of the input `allowed`.
  int64_t mask_bytes() const { return (spec_.vocab_size + 31) / 32 * 4; }

  /// Pages of the longest row.
  int64_t row_pages() { return (b_.graph.module().symbols.upper(length_) + kPageTokens - 1) / kPageTokens; }
  Value* input(const DecodePort& port) { return decode_input(b_, port, sizes(length_)); }
  Value* input_of_lengths() {
    return optional_input(std::string(port::lengths), port::lengths.shape.of(sizes(length_)), kAllTokens);
  }
  void give_candidates(Value* logits) {
    const BestTokens best = best_tokens(b_, logits);
    give(port::candidate_ids, best.tokens);
    give(port::candidate_log_probabilities, best.log_probabilities);
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
      stack.memory_mask =
          b_.graph.reshape(recall(b_, memory, kMemoryMask).numbers, {sources, memory.capacity});
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
  /// `kept`: 1 for each row whose token is cached, i32[B]; null: all are.
  Read read_one_each(Value* kept = nullptr) {
    Value* table = input_of_pages();
    Value* past = input_of_past();
    read_adapters();
    decode_behind(paged_cache(b_, options_.cache_pages, table, past, 1, kept), batch_);
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
    Value* found = logits(b_, last_).front();
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

  /// Returns the row of the caches that gets each source: the given one, or the row that the source has in
  /// the run.
  Value* rows_of_sources(const Cache& memory) {
    GraphBuilder& g = b_.graph;
    Value* given =
        optional_input(std::string(port::source_rows), port::source_rows.shape.of(sizes(length_)), kOwnRow);
    set_id_range(*given->node(), {.below = memory.slots, .ignored = kOwnRow});
    return g.select(g.eq(given, g.like(given, kOwnRow)), memory.rows, given);
  }

  /// Returns whether a state is one of @encode's, or one of @decode's.
  static bool is_cache(std::string_view name, bool sources) {
    return name.starts_with(kCachePrefix) && (name.find("cross.") != name.npos) == sources;
  }

  /// Returns the names of the states that @encode writes, or of those that other entries write.
  std::vector<std::string> caches(bool sources) {
    std::vector<std::string> names;
    for (const State& state : b_.graph.module().states)
      if (is_cache(state.name, sources)) names.push_back(state.name);
    return names;
  }

  /// Stores the mask of all sources up to the longest; it is 0 after the end of each.
  void remember_mask(const Cache& memory) {
    Value* mask = mask_ ? mask_ : b_.graph.constant(1, ids_->type);
    Value* none = b_.graph.constant(0, {DType::i32, {batch_, memory.capacity}});
    Value* all = b_.graph.insert(none, mask, {b_.graph.scalar(0, DType::i32)}, {1});
    remember(b_, memory, kMemoryMask, b_.graph.reshape(all, {batch_, memory.capacity, 1}));
  }
};

void add_page_readers(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                      AdaptersOfGraphs adapters) {
  if (const int64_t tokens = options.step_tokens.value_or(0);
      tokens > 0 && options.has_sampler.value_or(false)) {
    bound_run_tokens(tokens, module.symbols);
    const char* mixed = options.tiles_prompts ? entry::tiled_pages : entry::mixed_pages;
    CachedGraph(module, spec, options, adapters, mixed).add_mixed_pages(options.tiles_prompts);
    if (options.tiles_prompts)
      for (const bool one_row : {false, true})
        CachedGraph(module, spec, options, adapters, one_row ? entry::next_row : entry::next_pages)
            .add_next_pages(one_row);
    return CachedGraph(module, spec, options, adapters, entry::begin_pages).add_begin_pages();
  }
  CachedGraph(module, spec, options, adapters, entry::read_pages).add_read_pages(false);
  CachedGraph(module, spec, options, adapters, entry::decode_pages).add_read_pages(true);
  if (!options.has_sampler.value_or(false))
    return CachedGraph(module, spec, options, adapters, entry::step_pages).add_step_pages();
  CachedGraph(module, spec, options, adapters, entry::next_pages).add_next_pages(false);
  CachedGraph(module, spec, options, adapters, entry::begin_pages).add_begin_pages();
}

void add_pages(Module& module, const TransformerSpec& spec, const BuildOptions& options,
               AdaptersOfGraphs adapters) {
  add_page_readers(module, spec, options, adapters);
  CachedGraph(module, spec, options, adapters, entry::copy_pages).add_copy_pages();
  if (!options.has_sampler.value_or(false)) return;
  CachedGraph(module, spec, options, adapters, entry::sample_allowed).add_sample_allowed();
  CachedGraph(module, spec, options, adapters, entry::beam_pages).add_beam_pages();
}

}  // namespace

/// The states of a cache are declared by who writes them first.
void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       AdaptersOfGraphs adapters) {
  if (options.cache_pages > 0) return add_pages(module, spec, options, adapters);
  if (const auto rings = ring_bounds(spec, options, module.symbols)) bound_runs(*rings, module.symbols);
  if (has_both(spec)) CachedGraph(module, spec, options, adapters, entry::encode).add_encode();
  CachedGraph(module, spec, options, adapters, entry::decode).add_decode();
  if (options.has_sampler.value_or(false)) {
    bound_beams(module.symbols);
    CachedGraph(module, spec, options, adapters, entry::decode_beams).add_decode_beams();
    for (const bool guided : {false, true}) {
      CachedGraph(module, spec, options, adapters, guided ? entry::next_guided : entry::next)
          .add_next(guided);
      CachedGraph(module, spec, options, adapters, guided ? entry::next_beams_guided : entry::next_beams)
          .add_next_beams(guided);
    }
    if (has_both(spec)) CachedGraph(module, spec, options, adapters, entry::begin_beams).add_begin_beams();
  }
  CachedGraph(module, spec, options, adapters, entry::reorder).add_reorder(false);
  if (has_both(spec)) CachedGraph(module, spec, options, adapters, entry::reorder_sources).add_reorder(true);
}

}  // namespace smelt
