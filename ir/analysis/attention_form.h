// Requirements of attention kernels on attention nodes and their bodies (ir/graph/attention_body.h), and the
// reasons for a refusal. Shapes are q[b,t,h,d], k[b,s,k,d] and v[b,s,k,d]: batch b, query t, key s, head h,
// key head k, width d.
#pragma once

#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Recomputation of the attention weight in the body of an attention_grad: weight = exp(modified - lse), or 0
/// if modified is -inf. modified is the score after the score_mod, lse the log-sum-exp over keys, and delta =
/// dy . y per query, minus the gradient of lse if there is one.
struct AttentionWeight {
  const Value *weight = nullptr, *modified = nullptr;  // values in the body
  const Value *lse = nullptr, *delta = nullptr;        // operands of the node, f32[b,h,t]
  const Value* delta_in_body = nullptr;                // delta, broadcast to the scores
};
/// Returns the recomputed weight. Returns nothing if the body does not compute it, or if the body reads no
/// second value per query, which would be delta.
std::optional<AttentionWeight> attention_weight(const Node& gradient);

/// Largest number of rows (queries times query heads per key head) of decode attention. With more rows, the
/// tiles of a tensor-core kernel are filled well enough.
constexpr int64_t kMostSmallM = 16;
/// Returns the largest number of queries with at most kMostSmallM rows, but at least 1. Returns 0 if the
/// number of heads is not constant.
int64_t most_decode_queries(const Node& attention);
/// Returns whether the template for decode attention supports an attention: it has no random numbers, no
/// factor of the weight and no rounding residual. In addition, it must have at most most_decode_queries()
/// queries at the symbols' bounds; or the number of its queries is known only at launch, and the number of
/// its keys is constant, because they are in a KV cache.
bool may_be_decode_attention(const Node& attention);

/// Largest number of queries in a tile of the tensor-core kernels for all GPUs.
constexpr int64_t kTileQueries = 64;
/// Numbers of queries for which a target's attention kernels can read keys and values directly from the table
/// that a gather reads, such as a paged KV cache: at most most_decode_queries() (GPUs, f32), also up to
/// kTileQueries (GPUs, 16 bits), or any number (CPUs). More queries than a tile has read the keys several
/// times, so that one gather costs less.
enum class TableQueries : uint8_t { few, tile, any };
/// Returns whether all users of a gather are attentions that can read it as keys or values directly from its
/// table, by the gather's indices. Keys and values must be gathered by the same indices, and the graph must
/// not update the state that the table belongs to.
bool is_read_in_table(const Node& gather, TableQueries queries);

/// Returns the reason, as a sentence, why no GPU kernel can compute an attention or attention_grad whose q, k
/// and v are stored as `storage`. Returns nothing if one can.
std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage);
/// Returns the reason why the kernel of CPUs cannot compute the attention; nothing if it can. That kernel
/// computes attention by blocks of scores in f32.
std::optional<std::string> why_no_blocked_attention(const Node& attention);

}  // namespace smelt
