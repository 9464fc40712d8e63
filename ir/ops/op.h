// Properties of operations, from ops.def, scalar_ops.def and reduce_ops.def.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "ir/ops/op_names.h"

namespace smelt {

enum class Op : uint8_t {
#define SMELT_OP(name, ...) name,
#include "ir/ops/ops.def"
};

/// Bits of the `traits` column of ops.def. `leaf`: has no operands. `view`: moves no data if a layout allows
/// it. `fusable`: may be in the body of a fusion. `effect`: is kept even if no node uses its results.
/// `composite`: the pass decompose replaces it by primitives. `declared`: its result type is given with the
/// node, not inferred from the operands. `region`: may have a body (ir/graph/body.h).
struct Trait {
  static constexpr unsigned none = 0, leaf = 1, view = 2, fusable = 4, effect = 8, composite = 16,
                            declared = 32, region = 64;
};

/// Row of ops.def.
struct OpInfo {
  std::string_view name;
  int fewest, most;              // numbers of operands; most = -1: no limit
  unsigned traits;               // bits of Trait
  std::string_view description;  // a phrase
  bool has(unsigned trait) const { return (traits & trait) != 0; }
};
const OpInfo& info(Op op);
std::optional<Op> parse_op(std::string_view name);

/// Domain in which an operation computes; its operands are converted to it first.
enum class Domain : uint8_t {
  numbers,  // reals or integers; booleans become 0 and 1
  reals,
  flags,   // booleans
  any,     // reals, integers or booleans, unconverted
  choice,  // of select: a boolean, then two operands of domain `any`
};

/// Condition under which a result is proven not to be negative; it may be NaN.
enum class NonNegative : uint8_t {
  unknown,  // no condition is known
  always,
  if_all,      // if no operand is negative; for select, only the two values to choose from count
  if_any,      // if at least one operand is not negative
  if_product,  // if neither operand is negative, or if both operands are the same value
};

/// Row of scalar_ops.def. In the CUDA texts, {0} {1} {2} represent the operands. If cuda_integer, cuda_flag
/// or cuda_fast is empty, `cuda` is used instead. An operand may occur more than once in a text.
struct ScalarOpInfo {
  std::string_view name = {};
  int arity = 0;
  bool differentiable = false;  // has a derivative
  std::string_view meaning;     // the result, in the operands a, b and c
  std::string_view cuda = {};
  std::string_view cuda_integer = {};  // for integers
  std::string_view cuda_flag = {};     // for booleans
  std::string_view cuda_fast = {};     // for reals: faster, with an error of a few roundings
  /// The derivative at 0, if cuda_fast has a large relative error near 0. Near 0, the code then computes the
  /// derivative times the operand instead. "": cuda_fast is accurate near 0.
  std::string_view cuda_slope = {};
  Domain domain = Domain::numbers;
  /// The value and the derivative both exist only for operands above this number.
  double above = -std::numeric_limits<double>::infinity();
  bool flag = false;       // the result is a boolean
  bool truncates = false;  // for integers, the result is the real result rounded towards zero
  bool expensive = false;  // needs many instructions, so its results are kept and not computed again
  bool commutative = false;
  bool idempotent = false;             // op(x, x) = x
  std::optional<double> neutral = {};  // op(x, neutral) = x
  NonNegative non_negative = NonNegative::unknown;
  /// For a comparison: the comparison that is true where this one is false, if no operand is NaN.
  std::optional<ScalarOp> complement = {};
  std::optional<ScalarOp> swapped = {};  // for a comparison: swapped(b, a) = op(a, b)
};
const ScalarOpInfo& info(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);

/// Type of a scalar of a reduction's state, or of a result: the operand's element type, or i32.
enum class ReduceType : uint8_t { element, index };

/// One to four types, known at compile time.
class ReduceTypes {
 public:
  constexpr ReduceTypes(std::initializer_list<ReduceType> types) {
    for (ReduceType type : types) types_[count_++] = type;
  }
  constexpr size_t size() const { return count_; }
  constexpr ReduceType operator[](size_t i) const { return types_[i]; }
  constexpr const ReduceType* begin() const { return types_.data(); }
  constexpr const ReduceType* end() const { return types_.data() + count_; }

 private:
  std::array<ReduceType, 4> types_{};
  size_t count_ = 0;
};

/// Entry of the table reduce_ops.def. A reduction accumulates a state of one to four scalars, from which its
/// results are computed (ir/kernel/reduction_code.h). In the comments of the fields, a row is the sequence of
/// elements that are reduced together.
struct ReduceOpInfo {
  std::string_view name = {};
  ReduceTypes state = {};    // types of its scalars; the first is `element`
  ReduceTypes results = {};  // types of the results: a prefix of `state`
  std::string_view description = {};
  Domain domain = Domain::numbers;  // numbers or reals
  bool samples = false;             // reads only fixed positions of the row, so it needs no loop over the row
  bool over_rows = false;           // can reduce leading axes of a tensor, with one accumulator per column
  bool idempotent = false;          // repeated elements do not change the results
  bool finds = false;               // result 0 is an element of the row, or the mean of some elements
  int non_negative = -1;  // number of the result that is never negative (it may be NaN); -1: none is known
  // CUDA texts; "" if the text is generated from the expressions of reduce_ops.def.
  std::string_view cuda_combine = {};                // a statement
  std::array<std::string_view, 4> cuda_finish = {};  // one expression per result
  // Optional statements that replace a loop over cuda_combine; "": there is none. The first combines all
  // elements of {vector} into the state. The second combines the states of {lanes} lanes of a warp, which
  // {mask} selects.
  std::string_view cuda_combine_vector = {};
  std::string_view cuda_combine_lanes = {};
};
const ReduceOpInfo& info(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);

/// Number of elements at the start of a row whose mean is the result of ReduceOp::pivot. The op requires rows
/// of at least this length.
inline constexpr int kPivotElements = 4;

inline std::string_view name(Op op) { return info(op).name; }
inline std::string_view name(ScalarOp op) { return info(op).name; }
inline std::string_view name(ReduceOp op) { return info(op).name; }

}  // namespace smelt
