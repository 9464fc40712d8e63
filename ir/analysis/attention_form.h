// Analyses of attention nodes and their bodies (ir/graph/attention_body.h): whether an attention kernel can
// compute a node, and if not, the reason. Shapes are q[b,t,h,d], k[b,s,k,d] and v[b,s,k,d]: batch b, query t,
// key s, head h, key head k, width d.
#pragma once

#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Values of the body of an attention_grad that computes the attention weight again: weight = exp(modified -
/// lse), or 0 if modified is -inf. `modified` is the score after the score_mod, and `lse` the log-sum-exp
/// over keys. `delta` is dy . y per query, minus the gradient of lse if there is one.
struct AttentionWeight {
  const Value *weight = nullptr, *modified = nullptr;  // values in the body
  const Value *lse = nullptr, *delta = nullptr;        // operands of the node, f32[b,h,t]
  const Value* delta_in_body = nullptr;                // delta, broadcast to the scores
};
/// Returns these values. Returns nothing if the body does not compute the weight in this form, or if it reads
/// no value per query besides lse that could be delta.
std::optional<AttentionWeight> attention_weight(const Node& gradient);

/// Largest number of rows (queries times query heads per key head) of decode attention. With more rows, the
/// tiles of a tensor-core kernel are filled well enough.
constexpr int64_t kMostSmallM = 16;
/// Returns the largest number of queries with at most kMostSmallM rows, but at least 1. Returns 0 if the
/// number of heads is not constant.
int64_t most_decode_queries(const Node& attention);
/// Returns whether the template for decode attention may compute an attention. The attention must have no
/// random numbers, no factor of the weight and no rounding residual. In addition, it must have at most
/// most_decode_queries() queries at the symbols' bounds, or read a KV cache. A KV cache is detected by a
/// constant number of keys and a number of queries that is known only at launch.
bool may_be_decode_attention(const Node& attention);

/// Largest number of queries in a tile of the tensor-core kernels for all GPUs.
constexpr int64_t kTileQueries = 64;
/// Numbers of queries for which a target's attention kernels read keys and values directly from the table
/// that a gather reads, such as a paged KV cache. With more queries, the gather is executed instead.
enum class TableQueries : uint8_t {
  few,   // at most most_decode_queries(): GPUs, f32
  tile,  // at most most_decode_queries() or kTileQueries: GPUs, 16 bits
  any    // any number: CPUs
};
/// Returns whether all users of a gather are attentions that can read it as keys or values directly from its
/// table, by the gather's indices. Keys and values must be gathered by the same indices, and the graph must
/// not update the state that the table belongs to.
bool is_read_in_table(const Node& gather, TableQueries queries);

/// Returns the reason, as a sentence, why no GPU kernel can compute an attention or attention_grad whose q, k
/// and v are stored as `storage`. Returns nothing if a kernel can.
std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage);
/// Returns the reason why the attention kernel for CPUs cannot compute the attention; nothing if it can. That
/// kernel computes the scores of one block of queries and keys after the other, in f32.
std::optional<std::string> why_no_blocked_attention(const Node& attention);

}  // namespace smelt
