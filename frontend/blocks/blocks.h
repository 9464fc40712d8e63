// Parts of a transformer's graphs. Each function adds the nodes of one part to the graph of a BlockBuilder.
// build_transformer (frontend/build_transformer.h) calls these functions. B is the number of rows (sequences)
// of the batch, T the number of tokens per row, S the number of tokens per row of the encoder's output, V the
// size of the vocabulary. A run is one execution of a graph.
#pragma once

#include <optional>
#include <string>

#include "frontend/blocks/adapter_slots.h"
#include "frontend/blocks/adapters.h"
#include "frontend/build_transformer.h"
#include "frontend/parameter_names.h"
#include "ir/graph/builder.h"

namespace smelt {

/// Common arguments of all parts: the graph under construction, the model's spec, and the names of its
/// parameters.
struct BlockBuilder {
  GraphBuilder graph;
  const TransformerSpec& spec;
  const ParameterNames names;
  TransformerSpec::Dropout dropout;  // probabilities in this graph
  DType cache_type = DType::f32;     // of cached keys and values, as attention reads them
  CacheCodes cache_codes = CacheCodes::none;
  Adapters* adapters = nullptr;           // of linear maps; null: there are none
  double adapter_dropout = 0;             // dropout probability of the adapters' inputs
  AdapterSlots* adapter_slots = nullptr;  // of the linear maps of blocks; null: there are none
  /// i32[B]: the slot of each row's adapter, or -1 if the row has none; null: no row of this graph has one.
  Value* adapter_of_row = nullptr;
  bool same_bits = false;  // BuildOptions::same_bits

  /// Sets the source name of the nodes that are added next: the name of the model's module `place`, such as
  /// "h.3.mlp", followed by "." and `part` if `part` is not empty.
  void at(const Place& place, std::string_view part = "");
};

/// Queries of a run with a paged cache, in two parts. `singles` are the queries of sequences that have one
/// token in the run. `tiles` are tiles of consecutive tokens of one sequence each. One attention node
/// computes each part. In such a run, each token is one row of the batch (B tokens, T = 1).
struct QueryTiles {
  /// R groups of N queries; all queries of a group are of one sequence.
  struct Part {
    Value* tokens = nullptr;  // i32[R,N]: index in the run of each query's token
    /// i32[R]: tokens of the sequence before the first query; -N: the group is padding, which sees no keys.
    Value* past = nullptr;
    Value* lines = nullptr;  // i32[R,capacity]: per group, the lines of its sequence (see Cache::lines)
  };
  Part singles, tiles;  // N is 1 in singles, and kTileTokens in tiles
  /// i32[B]: index of each token's result in the list of all results, those of `singles` before those of
  /// `tiles`.
  Value* results = nullptr;
};

/// Cache of the keys and values of earlier tokens, and the run's inputs that locate tokens in the cache. Each
/// transformer block has one state for keys and one for values, [slots,capacity,kv_heads,head_dim]: a slot
/// stores `capacity` tokens of one row. The first B slots belong to the rows of the batch.
struct Cache {
  int64_t slots = 0, capacity = 0;
  Value* rows = nullptr;  // i32[B]: 0 ... B-1
  /// i32[B]: number of tokens of each row before those of this run; null: 0 for all rows.
  Value* past = nullptr;
  /// i32[B,capacity]: slot that stores the token at each position of a row. Beams that share their beginning
  /// share slots. null: all tokens of a row are in the row's own slot.
  Value* row_of_place = nullptr;
  Dim readers = 1;  // number of consecutive rows of the batch that read the same slot (beams of one source)
  /// Fields of a sliding-window (ring) cache (ring.cpp), whose capacity is less than a row's tokens.
  Value* tokens = nullptr;      // i32[B]: tokens of each row, with those of this run; null: not a ring
  Value* new_places = nullptr;  // i32[B,T]: positions in the ring where this run's tokens are stored
  /// Fields of a paged cache (pages.cpp), whose states are [pages,kPageTokens,kv_heads,head_dim].
  int64_t pages = 0;  // 0: not paged
  /// i32[B,capacity]: line of the cache, page * kPageTokens + offset in the page, of each position of a row.
  Value* lines = nullptr;
  /// i32[B,T]: page and offset in it for each token of this run; a token of page -1 is not cached.
  Value *new_pages = nullptr, *new_offsets = nullptr;
  /// Division of the queries between two attention nodes; null: one attention node, in which row i of the
  /// batch has T queries that see the positions in lines[i].
  const QueryTiles* queries = nullptr;
};

/// Rotary positions, f32[T,width/2] or [B,T,width/2]; null: none.
struct Rotations {
  Value *cosines = nullptr, *sines = nullptr;
};

/// Stack of blocks under construction: its sizes, and the inputs of its attention.
struct Stack {
  std::string_view name;  // "encoder" or "decoder"
  const StackSpec& spec;
  bool causal = false;
  Value* mask = nullptr;          // i32[B,T]: 0 where a token is padding; null: there is none
  Value* position_ids = nullptr;  // i32[B,T]; null: 0 ... T-1
  Value* segments = nullptr;      // i32[B,T]: tokens see only tokens of their own segment; null: all
  /// f32[heads,T,T], or [B,heads,T,capacity] with a cache: added to the attention scores of every block;
  /// null: none.
  Value* bias = nullptr;
  Value* slopes = nullptr;          // f32[heads]: ALiBi; null: none
  Rotations rotations = {};         // of queries and keys
  Rotations window_rotations = {};  // of those of blocks with a window
  const Cache* cache = nullptr;     // null: queries see only tokens of this run
  const Cache* ring = nullptr;      // cache of the blocks with a window; null: they use `cache`, too
  Value* ring_bias = nullptr;       // f32[B,heads,T,capacity]: the same as `bias`, for `ring`
  Value* memory = nullptr;          // f32[B,S,hidden]: encoder output that cross attention reads; null: none
  Value* memory_mask = nullptr;     // i32[B,S]: 0 for padding; null: there is none
  /// Cached keys and values of `memory`; if not null, cross attention reads them instead of `memory`.
  const Cache* memory_cache = nullptr;

  /// Returns the module `part` of block number `block`. The role (parameter_names.h) of the module
  /// "attention.query" of a decoder is "decoder.{}.attention.query", in which the block's number replaces {}.
  Place in_block(std::string_view part, int64_t block) const;
  /// Returns the module `part` of the stack itself: "decoder.norm" for "norm".
  Place part(std::string_view part) const;
};

// ---- layers.cpp
/// Use of a projection's result: `inner`, as a value within a block, or `residual`, as an addend to the
/// residual stream. With spec.init.scale_residual, initial weights of `residual` have a smaller deviation.
enum class Into : uint8_t { inner, residual };
/// Adds the f32 parameter "weight" of a module, with normal initial values of standard deviation `deviation`.
Value* weight(BlockBuilder& b, const Place& place, Shape shape, double deviation);
/// Applies a norm over the last dimension of x.
Value* norm(BlockBuilder& b, const Place& place, Value* x);
/// Returns x W^T for x [...,in] and the weight W [out,in], plus a bias [out] if `bias`, plus the addends of
/// the module's adapter, and of the adapters in slots, if it has any: [...,out].
Value* linear(BlockBuilder& b, const Place& place, Value* x, int64_t out, bool bias, Into into = Into::inner);
/// Applies `count` linear maps to x [B,T,in], and returns [B,T,count,out]. Their weights are one parameter
/// [count,out,in], which checkpoints store as a matrix [count*out,in]. With tensor parallelism, each rank
/// computes the same range of the `out` outputs of every map.
Value* stacked_linear(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out, bool bias);
/// Returns x plus the trained parameter "bias" of the module: one number per feature (or class), initially 0.
Value* add_bias(BlockBuilder& b, const Place& place, Value* x);
/// Returns x [...,features] plus the parameter "weight" [1,features] of the module, which is not trained.
Value* add_offset(BlockBuilder& b, const Place& place, Value* x);
/// Returns x times `factor`; x itself if that is 1.
Value* times(BlockBuilder& b, Value* x, double factor);
/// Returns cap tanh(x / cap); x itself if cap is 0.
Value* soft_capped(BlockBuilder& b, Value* x, double cap);
/// Applies dropout with probability p; returns x itself if p is 0.
Value* dropout(BlockBuilder& b, Value* x, double p);
Value* activate(BlockBuilder& b, Value* x, Activation activation);

// ---- embedding.cpp, patches.cpp
/// Returns the embeddings of ids i32[B,T], with positions and token types: f32[B,T,hidden]. `token_types`:
/// i32[B,T]; null: the model has none.
Value* embed_tokens(BlockBuilder& b, const Stack& stack, Value* ids, Value* token_types);
/// Returns x [B,T,hidden], the rows of the embedding table that were looked up for ids i32[B,T]. If
/// spec.embedding.frozen_padding, padding tokens contribute no gradient to the table.
Value* freeze_padding(BlockBuilder& b, Value* x, Value* ids);
/// Returns the embeddings of the patches of images f32[B,channels,height,width]: f32[B,patches,hidden], or
/// f32[B,1 + patches,hidden] if the model has a class token, which is the first row.
Value* embed_patches(BlockBuilder& b, const Stack& stack, Value* pixels);

// ---- positions.cpp
/// Returns x plus the rows of the stack's table of positions; x itself if the model has no such table. `ids`
/// are the tokens; null for patches.
Value* add_positions(BlockBuilder& b, const Stack& stack, Value* x, Value* ids);
/// Sets the members of `stack` that spec.positions requires: position_ids, rotations, slopes, or the relative
/// position biases. `ids` are the tokens.
void prepare_positions(BlockBuilder& b, Stack& stack, Value* ids);
/// Applies rotary positions to x [B,T,heads,head_dim]. The elements of a pair of each head are rotated by the
/// angle of the token's position: elements i and i + width / 2, or 2 i and 2 i + 1 if positions.interleaved.
/// `width` is rotary_width() (rotary.h); later elements are unchanged.
Value* rotated(BlockBuilder& b, const Stack& stack, const Rotations& rotations, Value* x);

// ---- cache.cpp
/// Declares a state of the module, initially zeros, unless a state of that name exists.
void declare_state(BlockBuilder& b, std::string_view name, Role role, DType dtype, Shape shape);
/// Declares the state of a cache [slots,capacity,...]. With tensor parallelism, a cache
/// [slots,capacity,heads,width] is divided between ranks by heads.
void declare_cache(BlockBuilder& b, const std::string& name, const Type& type);
/// Keys or values of a cache. If they are codes, `scales` [...,heads] has the number by which the codes
/// [...,heads,width] of a head are multiplied; null: they are numbers of BlockBuilder::cache_type.
struct Cached {
  Value* numbers = nullptr;
  Value* scales = nullptr;
};
/// Appends x [B,T,...], the run's keys or values, to the batch's rows in the cache state of the module
/// `place`. Returns the whole content of these rows, [B,capacity,...]. Floats are converted to
/// BlockBuilder::cache_type, or become codes if BlockBuilder::cache_codes is set, whose scales are in a state
/// of their own, [slots,capacity,heads,1]. States are declared if they do not exist.
Cached remember(BlockBuilder& b, const Cache& cache, const Place& place, Value* x);
/// Returns the content of the batch's rows in the cache state of the module `place`, [B,capacity,...].
Cached recall(BlockBuilder& b, const Cache& cache, const Place& place);
/// Copies the positions places[t] of slot from[b] of a cache state to slot to[b], for all b and t. The
/// arguments are from i32[B], to i32[B] and places i32[T]. Positions beyond the state's capacity are skipped.
void move_rows(BlockBuilder& b, const std::string& name, Value* from, Value* to, Value* places);
/// Returns the name of the cache state of a module, which begins with kCachePrefix.
std::string cache_name(const Place& place);
constexpr std::string_view kCachePrefix = "cache.";

// ---- cache_codes.cpp
/// Returns the codes and the scales of x [B,T,heads,width]. A scale is bf16: the largest magnitude of the
/// head's numbers, at least 1e-30, by the largest code; a code is the nearest one to x / scale. Where a
/// number of the head is not finite, the scale is NaN or infinite. These are the same bits on every machine
/// for equal x.
Cached coded(GraphBuilder& g, Value* x, CacheCodes codes);
/// Returns the numbers of the cache: codes times scales, converted to `dtype`, or the numbers as they are.
Value* numbers_of(GraphBuilder& g, const Cached& cached, DType dtype);

// ---- ring.cpp
/// Returns the ring cache, of `places` positions per row, for the blocks with a window. `tokens` is the cache
/// of the other blocks for the same rows, and `fresh` the number of tokens per row in this run. Requires:
/// `fresh` is at most `places` - (window - 1), so that a run overwrites no token that its queries see.
Cache ring_cache(GraphBuilder& g, const Cache& tokens, int64_t places, const Dim& fresh);
/// Returns the number (in its row) of the token at each position of a ring, i32[B,capacity]; below 0 if there
/// is none yet.
Value* tokens_of_places(GraphBuilder& g, const Cache& ring);

// ---- pages.cpp
/// Returns the cache of rows whose page numbers are in `table`, i32[B,capacity / kPageTokens]; `pages` is the
/// number of pages of the whole cache. A run has `tokens` new tokens per row, after the `past` (i32[B])
/// cached ones. Of the new tokens of a row, the first `lengths` (i32[B]) are cached and the others are
/// padding; null: all are cached.
Cache paged_cache(BlockBuilder& b, int64_t pages, Value* table, Value* past, const Dim& tokens,
                  Value* lengths);
/// Appends x [B,T,...] to the pages of the batch's rows, in the state of this name, which is declared if it
/// does not exist. Returns the lines of all pages.
Value* remember_in_pages(BlockBuilder& b, const Cache& cache, const std::string& name, Value* x);
/// Returns the line (page * kPageTokens + offset) of each position of rows whose page numbers are in `table`,
/// i32[rows,pages]: i32[rows,pages * kPageTokens].
Value* lines_of_pages(GraphBuilder& g, Value* table);
/// Returns a state [slots,capacity,...] reshaped to [slots * capacity,...]: a line per slot and position.
Value* lines_of(GraphBuilder& g, Value* state);

// ---- attention_block.cpp, ffn_block.cpp, stack.cpp, head.cpp
// self_attention, cross_attention and feed_forward are the parts of block number `block`. Each returns its
// addend to the residual stream, [B,T,hidden], for its input x [B,T,hidden]. In a pre-norm model, x is the
// result of the norm.
Value* self_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
Value* cross_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// Stores in stack.memory_cache the keys and values that the block's cross attention computes from
/// stack.memory.
void remember_memory(BlockBuilder& b, const Stack& stack, int64_t block);
Value* feed_forward(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// Applies all blocks and the final norm to the embeddings x [B,T,hidden], and returns the result. Appends to
/// `hidden` the input of every block, and the last hidden state.
Value* run_stack(BlockBuilder& b, const Stack& stack, Value* x, std::vector<Value*>& hidden);
/// Returns the pooler's output, tanh of a linear map of the first token of x [B,T,hidden]: [B,hidden].
/// Returns null if the model has no pooler.
Value* pooled(BlockBuilder& b, Value* x);
/// Returns the logits of the head for the last hidden state x, in the order of logits_ports(): [B,T,V] for
/// tokens, [B,classes] or [B,T,classes], [B,T] for the first and the last token of an answer, and [B,1] for
/// choices, where a row is one choice. Returns nothing if the model has no head.
std::vector<Value*> logits(BlockBuilder& b, Value* x);
/// Names of one of the head's outputs and of the labels that it is compared with, as in transformers.
struct LogitsPort {
  std::string_view logits, labels;
};
std::vector<LogitsPort> logits_ports(const TransformerSpec& spec);
/// Returns the targets i32[B] of start_positions or end_positions i32[B] of texts of `length` tokens, as
/// transformers does: negative positions are 0, and those from `length` on are ignored.
Value* span_targets(BlockBuilder& b, Value* positions, const Dim& length);

/// Results of a loss, f32[]: the sum of the losses of all labels that are not ignored, and the number of
/// these labels.
struct LossOutputs {
  Value* loss_sum;
  Value* token_count;
};
/// Returns the cross entropy of logits [...,V] and targets i32[...]. Targets that are criterion.ignore_index
/// do not count.
LossOutputs cross_entropy_loss(BlockBuilder& b, Value* logits, Value* targets);
/// Returns the sum of the mean losses of the parts, times `factor`, as loss_sum / token_count. A part without
/// targets adds 0, and not NaN as in transformers, because NaN would reach all gradients. The count is the
/// largest of the parts' counts. It weighs the batch among others that are added up, so that the loss of a
/// list of batches is the mean of their losses, weighted by these counts.
LossOutputs sum_of_means(BlockBuilder& b, llvm::ArrayRef<LossOutputs> parts, double factor);
/// Returns the type of labels for a classification head. The field head.problem decides between class
/// numbers, i32[B], and one number per class, f32[B,classes] (f32[B] for a single class).
Type label_type(const TransformerSpec& spec, const Dim& batch);
/// Returns the loss of logits [B,classes] and labels of label_type(): cross entropy, squared error, or binary
/// cross entropy, by head.problem. Each element of f32 labels counts as one label.
LossOutputs class_loss(BlockBuilder& b, Value* logits, Value* labels);
/// Returns the targets i32[B,T] of a decoder: label t + 1 for position t. The last position of a row has no
/// target (criterion.ignore_index). If `segments` (i32[B,T]) is not null, the last position of each segment
/// has no target.
Value* next_tokens(BlockBuilder& b, Value* labels, Value* segments);
/// Returns the input tokens i32[B,T] of a decoder that learns to predict `labels` i32[B,T]: the start token,
/// then all labels but the last. Ignored labels are replaced by the padding token. With tokens.last_starts,
/// the start token is the last token of the row that is not padding (shift_tokens_right of mBART).
Value* teacher_forced(BlockBuilder& b, Value* labels);

}  // namespace smelt
