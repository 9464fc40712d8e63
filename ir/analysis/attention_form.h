// Analyses of attention nodes and their bodies (ir/graph/attention_body.h): whether an attention kernel can
// compute a node, and if not, the reason. Shapes are q[b,t,h,d], k[b,s,g,d] and v[b,s,g,d]: batch b, query t,
// key s, head h, key head g, width d.
#pragma once

#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Values of the body of an attention_grad. This body computes the attention weight again: weight =
/// exp(modified - lse), or 0 if modified is -inf. `modified` is the score after the score_mod, and `lse` is
/// the log-sum-exp over keys. `delta` is dy . y per query, where y is the result of the attention and dy is
/// its gradient. If there is a gradient of lse, it is subtracted from dy . y.
struct AttentionWeight {
  const Value *weight = nullptr, *modified = nullptr;  // values in the body
  const Value *lse = nullptr, *delta = nullptr;        // operands of the node, f32[b,h,t]
  const Value* delta_in_body = nullptr;                // delta, broadcast to the scores
};
/// Returns these values. Returns nothing if the body does not compute the weight in this form, or if lse is
/// the only f32 value per query that it reads.
std::optional<AttentionWeight> attention_weight(const Node& gradient);

/// Returns whether the keys and values of an attention are codes of 8 bits with scales, which are its
/// operands 3 and 4.
bool reads_codes(const Node& attention);

/// Largest number of rows of decode attention. The rows of a key head are the queries times the query heads
/// per key head. With more rows, the tensor-core kernels are used instead.
constexpr int64_t kMostSmallM = 16;
/// If the numbers of heads are constant, returns the largest number of queries for which a key head has at
/// most kMostSmallM rows, or 1 if even one query has more. Otherwise returns 0.
int64_t most_decode_queries(const Node& attention);
/// Returns whether the template for decode attention may compute an attention. The attention must have no
/// random numbers, no factor of its weights (as dropout has) and no rounding residual. It must have at most
/// most_decode_queries() queries when all symbols are at their upper bounds, or else read a KV cache. It
/// reads a KV cache if the number of keys is constant and the number of queries is known only at launch.
bool may_be_decode_attention(const Node& attention);

/// Largest number of queries in a tile of the tensor-core kernels for all GPUs.
constexpr int64_t kTileQueries = 64;
/// The keys and values of an attention may be a gather of rows of a table, such as a paged KV cache.
/// TableQueries is the largest number of queries with which the kernels of a target read the table directly.
/// With more queries, the gather is executed first.
enum class TableQueries : uint8_t {
  few,   // at most most_decode_queries(); for f32 on GPUs
  tile,  // at most the larger of most_decode_queries() and kTileQueries; for 16-bit floats on GPUs
  any    // any number; for CPUs
};
/// Returns whether all users of a gather are attentions that can read their keys or values directly from the
/// gather's table. Keys and values must be gathered by the same indices, and the graph must not update the
/// state that the table belongs to.
bool is_read_in_table(const Node& gather, TableQueries queries);

/// Returns the reason, as a sentence, why no GPU kernel can compute an attention or attention_grad whose q, k
/// and v are stored as `storage`. Returns nothing if a kernel can.
std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage);
/// Returns the reason why the attention kernel for CPUs cannot compute the attention; nothing if it can. The
/// kernel loops over blocks of queries and keys, and computes the scores of each block in f32.
std::optional<std::string> why_no_blocked_attention(const Node& attention);

}  // namespace smelt
