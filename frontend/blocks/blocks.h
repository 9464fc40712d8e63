// The parts that build_transformer puts together, one in each file of this folder.
#pragma once

#include <optional>
#include <string>

#include "frontend/blocks/adapters.h"
#include "frontend/build_transformer.h"
#include "frontend/parameter_names.h"
#include "ir/builder.h"

namespace smelt {

/// What every part needs: where to build, what to build, and how to name it.
struct BlockBuilder {
  GraphBuilder graph;
  const TransformerSpec& spec;
  const ParameterNames names;
  TransformerSpec::Dropout dropout;  // the probabilities of this graph
  DType cache_type = DType::f32;     // of keys and values that are kept
  Adapters* adapters = nullptr;      // beside linear maps; null: none
  double adapter_dropout = 0;        // of what they read

  /// Sets the source name of the nodes that follow: `place`, and a part of it.
  void at(const Place& place, std::string_view part = "");
};

/// Where the keys and values of tokens that were read before are: a state of each block's keys and one of its
/// values, [slots,capacity,kv_heads,head_dim], whose first slots are the rows of the batch.
struct Cache {
  int64_t slots = 0, capacity = 0;
  Value* rows = nullptr;  // i32[B]: 0 ... B-1
  Value* past = nullptr;  // i32[B]: tokens of each row that were read before; null: they are not looked at
  Value* row_of_place =
      nullptr;      // i32[B,capacity]: the slot in which each place of a row lies; null: its own
  Dim readers = 1;  // rows of the batch that read one row of it, which lie together
  /// Where the cache is a ring (ring.cpp), whose capacity is less than a row's tokens.
  Value* tokens = nullptr;      // i32[B]: of each row with this run's; null: each has a place of its own
  Value* new_places = nullptr;  // i32[B,T]: where this run's go
  /// Where the cache is in pages (pages.cpp), and so its states are [pages,kPageTokens,kv_heads,head_dim].
  int64_t pages = 0;       // 0: it is not
  Value* lines = nullptr;  // i32[B,capacity]: the line of all pages in which each place of a row lies
  Value *new_pages = nullptr,
        *new_offsets = nullptr;  // i32[B,T]: where this run's tokens go; page -1: nowhere
};

/// One stack of blocks at work: its sizes, and what its attention sees.
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

  /// A part of block `block`: "decoder.{}.attention.query"; of the stack itself: "decoder.norm".
  Place in_block(std::string_view part, int64_t block) const;
  Place part(std::string_view part) const;
};

// ---- layers.cpp
/// A weight's initial values depend on what it projects into.
enum class Into : uint8_t { inner, residual };
Value* weight(BlockBuilder& b, const Place& place, Shape shape, double deviation);
/// Over the last dimension of x.
Value* norm(BlockBuilder& b, const Place& place, Value* x);
Value* linear(BlockBuilder& b, const Place& place, Value* x, int64_t out, bool bias, Into into = Into::inner);
/// `count` linear maps of x[B,T,features] as one, [B,T,count,out], which checkpoints hold one below the
/// other; ranks share the outputs of each of them alike.
Value* stacked_linear(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out, bool bias);
/// Adds one number per feature (or class), initially 0, broadcast over the leading dims of x.
Value* add_bias(BlockBuilder& b, const Place& place, Value* x);
/// Adds a row [1,features] that is not trained.
Value* add_offset(BlockBuilder& b, const Place& place, Value* x);
/// cap tanh(x / cap); x itself where cap is 0.
Value* soft_capped(BlockBuilder& b, Value* x, double cap);
/// Returns x itself where p is 0.
Value* dropout(BlockBuilder& b, Value* x, double p);
Value* activate(BlockBuilder& b, Value* x, Activation activation);

// ---- embedding.cpp, patches.cpp
/// i32[B,T] ids and, where the model has them, token types to f32[B,T,hidden].
Value* embed_tokens(BlockBuilder& b, const Stack& stack, Value* ids, Value* token_types);
/// Rows of a table, [B,T,hidden]; rows of padding give the table no gradient.
Value* freeze_padding(BlockBuilder& b, Value* x, Value* ids);
/// f32[B,channels,height,width] to f32[B,patches (+ 1),hidden].
Value* embed_patches(BlockBuilder& b, const Stack& stack, Value* pixels);

// ---- positions.cpp
/// x plus the stack's table of positions, where it has one. `ids` are the tokens, null for patches.
Value* add_positions(BlockBuilder& b, const Stack& stack, Value* x, Value* ids);
/// Fills what the positions of the spec need: ids that are counted, rotations, biases by distance.
void prepare_positions(BlockBuilder& b, Stack& stack, Value* ids);
/// The first `width` numbers of each head of [B,T,heads,head_dim], whose pairs (i, i + width / 2) are turned
/// by their position's angles.
Value* rotated(BlockBuilder& b, const Stack& stack, Value* x);

// ---- cache.cpp
/// The state of that name, all zeros at first; nothing where there is one.
void declare_state(BlockBuilder& b, std::string_view name, Role role, DType dtype, Shape shape);
/// The same of a cache [slots,places,...], whose heads, where it has them, ranks share.
void declare_cache(BlockBuilder& b, const std::string& name, const Type& type);
/// x[B,...], put into the state of that name behind what its rows have there, and all that they have then,
/// [B,capacity,...] of the cache's type. A cache without `past` has x from the beginning on.
Value* remember(BlockBuilder& b, const Cache& cache, const Place& place, Value* x);
/// What rows of the batch have in the state of that name, [B,capacity,...].
Value* recall(BlockBuilder& b, const Cache& cache, const Place& place);
/// What row from[b] of a state has at places[t] becomes that of row to[b]: i32[B], i32[B] and i32[T].
void move_rows(BlockBuilder& b, const std::string& name, Value* from, Value* to, Value* places);
/// The name of the state that holds what is made at a place.
std::string cache_name(const Place& place);
constexpr std::string_view kCachePrefix = "cache.";

// ---- ring.cpp
/// The ring of rows whose tokens have places in `tokens`, of which `fresh` are this run's. A run's tokens are
/// no more than the ring's places that are not the window's, which is for the caller to see to.
Cache ring_cache(GraphBuilder& g, const Cache& tokens, int64_t places, const Dim& fresh);
/// The token at each place of a ring, i32[B,capacity]; below 0 where none has come there.
Value* tokens_of_places(GraphBuilder& g, const Cache& ring);

// ---- pages.cpp
/// The cache of rows whose places lie in `pages`, i32[B,capacity / kPageTokens]. Of `tokens` new ones of each
/// row, which follow its `past` ones, those behind its `lengths` are not kept; null: all are.
Cache paged_cache(BlockBuilder& b, int64_t pages, Value* table, Value* past, const Dim& tokens,
                  Value* lengths);
/// As remember, of a cache in pages.
Value* remember_in_pages(BlockBuilder& b, const Cache& cache, const std::string& name, Value* x);
/// Places of a state [slots,capacity,...] as lines of one table.
Value* lines_of(GraphBuilder& g, Value* state);

// ---- attention_block.cpp, ffn_block.cpp, stack.cpp, head.cpp
Value* self_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
Value* cross_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// Keys and values that cross attention of the block makes of the stack's memory go into its cache.
void remember_memory(BlockBuilder& b, const Stack& stack, int64_t block);
Value* feed_forward(BlockBuilder& b, const Stack& stack, int64_t block, Value* x);
/// All blocks and the final norm; the hidden states on the way are appended to `hidden`.
Value* run_stack(BlockBuilder& b, const Stack& stack, Value* x, std::vector<Value*>& hidden);
/// A dense layer and tanh over the first token, or null where the model has no pooler.
Value* pooled(BlockBuilder& b, Value* x);
/// The logits that head.kind asks for, from the last hidden state; null for a model without a head.
Value* logits(BlockBuilder& b, Value* x);

struct LossOutputs {
  Value* loss_sum;
  Value* token_count;
};
/// Cross entropy of logits [...,V] and targets i32[...].
LossOutputs cross_entropy_loss(BlockBuilder& b, Value* logits, Value* targets);
/// As head.problem says, of logits [B,classes] and labels of `label_type`; the count is of numbers, not of
/// rows, where labels are numbers.
Type label_type(const TransformerSpec& spec, const Dim& batch);
LossOutputs class_loss(BlockBuilder& b, Value* logits, Value* labels);
/// The target of position t is label t + 1; the last position of a row has none, nor that of a segment where
/// there are `segments`, i32[B,T].
Value* next_tokens(BlockBuilder& b, Value* labels, Value* segments);
/// What a decoder reads while it learns to write `labels`: the start token, then all labels but the last.
Value* teacher_forced(BlockBuilder& b, Value* labels);

}  // namespace smelt
