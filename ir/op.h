// Names and facts of operations, read from ops.def, scalar_ops.def and reduce_ops.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt {

enum class Op : uint8_t {
#define SMELT_OP(name, ...) name,
#include "ir/ops.def"
};

enum class ScalarOp : uint8_t {
#define SMELT_SCALAR_OP(name, ...) name,
#include "ir/scalar_ops.def"
};

enum class ReduceOp : uint8_t {
#define SMELT_REDUCE_OP(name, ...) name,
#include "ir/reduce_ops.def"
};

/// What `pivot` takes the mean of, and the fewest columns that it wants.
inline constexpr int kPivotElements = 4;
/// A reduction that reads fixed places of the row: known before the row is walked.
constexpr bool samples_row(ReduceOp op) { return op == ReduceOp::first || op == ReduceOp::pivot; }

/// Bits of the `traits` column of ops.def.
struct Trait {
  static constexpr unsigned none = 0, leaf = 1, view = 2, fusable = 4, effect = 8, composite = 16,
                            declared = 32, region = 64;
};

struct OpInfo {
  std::string_view name;
  int fewest, most;  // operands; most = -1: any number
  unsigned traits;
  bool has(unsigned trait) const { return (traits & trait) != 0; }
};
const OpInfo& info(Op op);
std::optional<Op> parse_op(std::string_view name);

struct ScalarOpInfo {
  std::string_view name;
  int arity;
  bool flag;              // the result is a boolean
  std::string_view cuda;  // text with {0} {1} {2}
  bool differentiable;
};
const ScalarOpInfo& info(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);

struct ReduceOpInfo {
  std::string_view name;
  int results;
  std::string_view types;  // "same" or "index" for each result
};
const ReduceOpInfo& info(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);
/// Takes many instructions: a result that is wanted again is rather kept.
bool is_dear(ScalarOp op);

inline std::string_view name(Op op) { return info(op).name; }
inline std::string_view name(ScalarOp op) { return info(op).name; }
inline std::string_view name(ReduceOp op) { return info(op).name; }

}  // namespace smelt
