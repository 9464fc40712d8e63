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

/// Bits of the `traits` column of ops.def.
struct Trait {
  static constexpr unsigned none = 0, leaf = 1, view = 2, fusable = 4, effect = 8, composite = 16,
                            declared = 32, region = 64;
};

struct OpInfo {
  std::string_view name;
  int fewest, most;  // operands; most = -1: any number
  unsigned traits;
  std::string_view description;  // a phrase
  bool has(unsigned trait) const { return (traits & trait) != 0; }
};
const OpInfo& info(Op op);
std::optional<Op> parse_op(std::string_view name);

/// Domain in which an operation computes; its operands are converted to it first.
enum class Domain : uint8_t {
  numbers,  // reals or integers; flags count as 0 and 1
  reals,
  flags,
  any,     // numbers, or flags as they are
  choice,  // a flag, then two of any kind
};

/// Condition under which a result is certainly not negative, except NaN.
enum class NonNegative : uint8_t {
  unknown,
  always,
  if_all,      // operands are (a choice: those that it chooses from)
  if_any,      // operand is
  if_product,  // both operands are, or are the same
};

/// Row of scalar_ops.def. CUDA texts have {0} {1} {2} for the operands; "": as `cuda`.
struct ScalarOpInfo {
  std::string_view name = {};
  int arity = 0;
  bool differentiable = false;
  std::string_view cuda = {};
  std::string_view cuda_integer = {};  // of integers
  std::string_view cuda_flag = {};     // of flags
  std::string_view cuda_fast = {};     // of reals, a few roundings off
  std::string_view cuda_slope = {};    // where cuda_fast loses its digits near 0: the derivative at 0
  Domain domain = Domain::numbers;
  double above = -std::numeric_limits<double>::infinity();  // value and derivative exist only above it
  bool flag = false;                                        // the result is a boolean
  bool truncates = false;  // for integers the reference's result is rounded towards zero
  bool expensive = false;  // takes many instructions: results are kept rather than computed again
  bool commutative = false;
  bool idempotent = false;             // op(x, x) = x
  std::optional<double> neutral = {};  // op(x, neutral) = x
  NonNegative non_negative = NonNegative::unknown;
  std::optional<ScalarOp> complement =
      {};                                // of a comparison: the one that holds where this does not, NaN aside
  std::optional<ScalarOp> swapped = {};  // of a comparison: swapped(b, a) = op(a, b)
};
const ScalarOpInfo& info(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);

/// Type of a scalar of a reduction's state, and of a result: the operand's, or i32.
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

/// Row of reduce_ops.def; its code is in ir/kernel/reduction_code.h.
struct ReduceOpInfo {
  std::string_view name = {};
  ReduceTypes state = {};    // the first is the element's
  ReduceTypes results = {};  // the state's first ones
  std::string_view description = {};
  Domain domain = Domain::numbers;  // numbers or reals
  bool samples = false;             // reads fixed places of the row: known before the row is walked
  bool over_rows = false;           // an accumulator a column can hold it
  bool idempotent = false;          // elements that repeat change nothing
  bool finds = false;               // result 0 is an element of the row, or the mean of some
  int non_negative = -1;            // the result that is never negative, NaN aside; -1: none is known to be
  // CUDA texts of its own; "" where they are generated from the expressions.
  std::string_view cuda_combine = {};                // a statement
  std::array<std::string_view, 4> cuda_finish = {};  // a text a result
  std::string_view cuda_combine_vector = {};         // a statement that adds a vector of elements, {vector}
  std::string_view cuda_combine_lanes = {};          // a statement that joins the states of {lanes} of {mask}
};
const ReduceOpInfo& info(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);

/// Number of elements whose mean `pivot` takes; it needs rows of at least this length.
inline constexpr int kPivotElements = 4;

inline std::string_view name(Op op) { return info(op).name; }
inline std::string_view name(ScalarOp op) { return info(op).name; }
inline std::string_view name(ReduceOp op) { return info(op).name; }

}  // namespace smelt
