// What kernels of attention ask of a node and its body, and why they cannot take it.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace smelt {

/// Where the body of an attention_grad computes the weight again: exp(modified - lse), and 0 where modified
/// is -inf.
struct AttentionWeight {
  const Value *weight = nullptr, *modified = nullptr;
  const Value *lse = nullptr, *delta = nullptr;  // operands of the node, f32[b,h,t]
  const Value* delta_in_body = nullptr;
};
/// Nothing where it does not, or where it reads other than these two numbers a row.
std::optional<AttentionWeight> attention_weight(const Node& gradient);

/// Rows, queries times heads that share a head of keys, that are few: beyond it, tiles for the tensor cores
/// are filled well enough.
constexpr int64_t kMostFewRows = 16;
/// Queries that have few rows, at least one.
int64_t most_few_queries(const Node& attention);
/// Whether an attention may have few queries, and the template for these takes it: always few, or as many as
/// a run has of a cache whose capacity is known. There are no random numbers and no rest.
bool may_have_few_queries(const Node& attention);

/// Whether a gather is the keys or values of attentions that read them in their table, by its indices: rows
/// of a table that nothing else of the graph writes are at places that keys and values share. A GPU's
/// template asks for queries that are always few.
enum class TableQueries : uint8_t { few, any };
bool is_read_in_table(const Node& gather, TableQueries queries);

/// A sentence why no kernel computes an attention or attention_grad whose heads are stored as `storage`;
/// nothing where one does.
std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage);
/// The same of a CPU, which takes it by blocks.
std::optional<std::string> why_no_blocked_attention(const Node& attention);

}  // namespace smelt
