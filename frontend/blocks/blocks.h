// Parts of build_transformer, one in each file of this folder.
#pragma once

#include <optional>
#include <string>

#include "frontend/blocks/adapters.h"
#include "frontend/build_transformer.h"
#include "frontend/parameter_names.h"
#include "ir/graph/builder.h"

namespace smelt {

/// Arguments of every part: the graph, the spec and the names.
struct BlockBuilder {
  GraphBuilder graph;
  const TransformerSpec& spec;
  const ParameterNames names;
  TransformerSpec::Dropout dropout;  // the probabilities of this graph
  DType cache_type = DType::f32;     // of cached keys and values
  Adapters* adapters = nullptr;      // of linear maps; null: none
  double adapter_dropout = 0;        // of their inputs

  /// Sets the source name of the nodes that follow: `place`, and a part of it.
  void at(const Place& place, std::string_view part = "");
};

/// Cache of keys and values of earlier tokens: one state of each block's keys and one of its values,
/// [slots,capacity,kv_heads,head_dim], whose first slots are the rows of the batch.
struct Cache {
  int64_t slots = 0, capacity = 0;
  Value* rows = nullptr;  // i32[B]: 0 ... B-1
  Value* past = nullptr;  // i32[B]: tokens of each row that were read before; null: they are not looked at
  Value* row_of_place = nullptr;  // i32[B,capacity]: the slot of each position of a row; null: its own
  Dim readers = 1;                // consecutive rows of the batch that read one row of it
  /// Fields of a ring cache (ring.cpp), whose capacity is less than a row's tokens.
  Value* tokens = nullptr;      // i32[B]: of each row with this run's; null: each has a place of its own
  Value* new_places = nullptr;  // i32[B,T]: where this run's go
  /// Fields of a paged cache (pages.cpp), whose states are [pages,kPageTokens,kv_heads,head_dim].
  int64_t pages = 0;       // 0: it is not
  Value* lines = nullptr;  // i32[B,capacity]: the line, among all pages, of each position of a row
  Value *new_pages = nullptr,
        *new_offsets = nullptr;  // i32[B,T]: where this run's tokens go; page -1: nowhere
};

/// Stack of blocks under construction: its sizes, and the inputs of its attention.
struct Stack {
  std::string_view name;  // "encoder" or "decoder"
  const StackSpec& spec;
  bool causal = false;
  Value* mask = nullptr;          // i32[B,T]: 0 where a token is padding; null: there is none
  Value* position_ids = nullptr;  // i32[B,T]; null: 0 ... T-1
  Value* segments = nullptr;      // i32[B,T]: tokens see those of their own segment; null: all
  Value* bias = nullptr;          // f32[heads,T,T] or with B before, added to the scores of every block
  Value* slopes = nullptr;        // f32[heads]: ALiBi
  Value *cosines = nullptr, *sines = nullptr;  // f32[T,width/2] or [B,T,width/2]: rotary positions
  const Cache* cache = nullptr;                // null: the tokens of this run are all there are
  const Cache* ring = nullptr;                 // of blocks with a window; null: the same as of others
  Value* ring_bias = nullptr;                  // f32[B,heads,T,capacity]: bias of the ring's places
  Value* memory = nullptr;                     // f32[B,S,hidden]: what cross attention reads
  Value* memory_mask = nullptr;                // i32[B,S]
  const Cache* memory_cache = nullptr;         // what cross attention reads in place of memory

  /// Returns a part of block `block`: "decoder.{}.attention.query"; of the stack itself: "decoder.norm".
  Place in_block(std::string_view part, int64_t block) const;
  Place part(std::string_view part) const;
};

// ---- layers.cpp
/// Target of a projection, on which its initial values depend.
enum class Into : uint8_t { inner, residual };
Value* weight(BlockBuilder& b, const Place& place, Shape shape, double deviation);
/// Applies a norm over the last dimension of x.
Value* norm(BlockBuilder& b, const Place& place, Value* x);
Value* linear(BlockBuilder& b, const Place& place, Value* x, int64_t out, bool bias, Into into = Into::inner);
/// Applies `count` linear maps of x[B,T,features] as one, [B,T,count,out]; checkpoints stack their weights;
/// ranks share the outputs of each of them alike.
Value* stacked_linear(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out, bool bias);
/// Adds one number per feature (or class), initially 0, broadcast over the leading dims of x.
Value* add_bias(BlockBuilder& b, const Place& place, Value* x);
/// Adds a row [1,features] that is not trained.
Value* add_offset(BlockBuilder& b, const Place& place, Value* x);
/// Returns cap tanh(x / cap); x itself if cap is 0.
Value* soft_capped(BlockBuilder& b, Value* x, double cap);
/// Applies dropout; returns x itself if p is 0.
Value* dropout(BlockBuilder& b, Value* x, double p);
Value* activate(BlockBuilder& b, Value* x, Activation activation);

// ---- embedding.cpp, patches.cpp
/// Embeds i32[B,T] ids and, if the model has them, token types to f32[B,T,hidden].
Value* embed_tokens(BlockBuilder& b, const Stack& stack, Value* ids, Value* token_types);
/// Returns rows of a table, [B,T,hidden]; rows of padding give the table no gradient.
Value* freeze_padding(BlockBuilder& b, Value* x, Value* ids);
/// Embeds f32[B,channels,height,width] to f32[B,patches (+ 1),hidden].
Value* embed_patches(BlockBuilder& b, const Stack& stack, Value* pixels);

// ---- positions.cpp
/// Adds the stack's table of positions to x, if it has one. `ids` are the tokens, null for patches.
Value* add_positions(BlockBuilder& b, const Stack& stack, Value* x, Value* ids);
/// Computes the values that the positions of the spec need: counted ids, rotations, biases by distance.
void prepare_positions(BlockBuilder& b, Stack& stack, Value* ids);
/// Rotates the first `width` numbers of each head of [B,T,heads,head_dim]: pairs (i, i + width / 2) by the
/// angles of their position.
Value* rotated(BlockBuilder& b, const Stack& stack, Value* x);

// ---- cache.cpp
/// Declares a state, initially zeros, unless it exists.
void declare_state(BlockBuilder& b, std::string_view name, Role role, DType dtype, Shape shape);
/// Declares the state of a cache [slots,places,...]; ranks share its heads, if it has heads.
void declare_cache(BlockBuilder& b, const std::string& name, const Type& type);
/// Appends x[B,...] to the rows of the state of that name, and returns their whole content, [B,capacity,...]
/// of the cache's type. Without `past` in the cache, x starts at position 0.
Value* remember(BlockBuilder& b, const Cache& cache, const Place& place, Value* x);
/// Returns the content of the batch's rows in the state of that name, [B,capacity,...].
Value* recall(BlockBuilder& b, const Cache& cache, const Place& place);
/// Copies row from[b] of a state at places[t] to row to[b]: i32[B], i32[B] and i32[T].
void move_rows(BlockBuilder& b, const std::string& name, Value* from, Value* to, Value* places);
/// Returns the name of the cache state of a module.
std::string cache_name(const Place& place);
constexpr std::string_view kCachePrefix = "cache.";

// ---- ring.cpp
/// Returns the ring cache of rows whose token positions are those of `tokens`, of which `fresh` are this
/// run's. Requires: a run's tokens are at most the ring's positions outside the window.
Cache ring_cache(GraphBuilder& g, const Cache& tokens, int64_t places, const Dim& fresh);
/// Returns the token at each position of a ring, i32[B,capacity]; below 0 if there is none yet.
Value* tokens_of_places(GraphBuilder& g, const Cache& ring);

// ---- pages.cpp
/// Returns the cache of rows whose pages are in `table`, i32[B,capacity / kPageTokens]. Of `tokens` new ones
/// of each row, which follow its `past` ones, those after its `lengths` are not cached; null: all are.
Cache paged_cache(BlockBuilder& b, int64_t pages, Value* table, Value* past, const Dim& tokens,
                  Value* lengths);
/// Does the same as remember for a paged cache.
Value* remember_in_pages(BlockBuilder& b, const Cache& cache, const std::string& name, Value* x);
/// Returns positions of a state [slots,capacity,...] as lines of one table.
Value* lines_of(GraphBuilder& g, Value* state);

// ---- attention_block.cpp, ffn_block.cpp, stack.cpp, head.cpp
Value* self_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
Value* cross_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// Caches the keys and values that the block's cross attention computes from the stack's memory.
void remember_memory(BlockBuilder& b, const Stack& stack, int64_t block);
Value* feed_forward(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// Runs all blocks and the final norm; appends the intermediate hidden states to `hidden`.
Value* run_stack(BlockBuilder& b, const Stack& stack, Value* x, std::vector<Value*>& hidden);
/// Applies a dense layer and tanh to the first token; returns null if the model has no pooler.
Value* pooled(BlockBuilder& b, Value* x);
/// Returns the logits of head.kind, from the last hidden state; null for a model without a head.
Value* logits(BlockBuilder& b, Value* x);

struct LossOutputs {
  Value* loss_sum;
  Value* token_count;
};
/// Returns the cross entropy of logits [...,V] and targets i32[...].
LossOutputs cross_entropy_loss(BlockBuilder& b, Value* logits, Value* targets);
/// As head.problem says, of logits [B,classes] and labels of `label_type`; the count is of numbers, not of
/// rows, where labels are numbers.
Type label_type(const TransformerSpec& spec, const Dim& batch);
LossOutputs class_loss(BlockBuilder& b, Value* logits, Value* labels);
/// Returns the targets: label t + 1 for position t; the last position of a row has none, nor that of a
/// segment with `segments`, i32[B,T].
Value* next_tokens(BlockBuilder& b, Value* labels, Value* segments);
/// Returns the decoder's inputs for learning to predict `labels`: the start token, then all labels but the
/// last.
Value* teacher_forced(BlockBuilder& b, Value* labels);

}  // namespace smelt
