// Requirements of attention kernels on a node and its body, and the reasons for a refusal.
#pragma once

#include <optional>
#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Recomputation of the weight in the body of an attention_grad: exp(modified - lse), and 0 where modified is
/// -inf.
struct AttentionWeight {
  const Value *weight = nullptr, *modified = nullptr;
  const Value *lse = nullptr, *delta = nullptr;  // operands of the node, f32[b,h,t]
  const Value* delta_in_body = nullptr;
};
/// Returns the recomputed weight; nothing if the body does not compute it, or reads other values per row than
/// these two.
std::optional<AttentionWeight> attention_weight(const Node& gradient);

/// Largest number of rows (queries times heads that share a key head) of decode attention: with more rows,
/// tiles for the tensor cores are filled well enough.
constexpr int64_t kMostSmallM = 16;
/// Returns the largest number of queries (at least one) with no more than that number of rows.
int64_t most_decode_queries(const Node& attention);
/// Returns whether an attention may be a decode attention that the template for it supports: its queries are
/// always few, or as many as a run has of a cache of known capacity. It has no random numbers and no rounding
/// residual.
bool may_be_decode_attention(const Node& attention);

/// Numbers of queries for which attentions read gathered keys or values directly in their table, by the
/// gather's indices. They can do so if no other node of the graph writes the table and keys and values share
/// positions. A GPU's template needs always few queries.
enum class TableQueries : uint8_t { few, any };
bool is_read_in_table(const Node& gather, TableQueries queries);

/// Returns a sentence why no kernel computes an attention or attention_grad whose heads are stored as
/// `storage`; nothing if one does.
std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage);
/// The same for a CPU, which computes attention by blocks.
std::optional<std::string> why_no_blocked_attention(const Node& attention);

}  // namespace smelt
