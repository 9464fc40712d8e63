// The mask of an attention kernel, and the generation of code that determines, by interval arithmetic,
// whether the mask excludes all pairs of a rectangle: an interval of queries times an interval of keys.
#pragma once

#include <algorithm>
#include <optional>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Instruction numbers of the first two operands of select(mask, seen_score, -inf), if a kernel's modified
/// score has this form.
struct ScoreMask {
  int instruction = -1;  // the mask; -1: there is none
  int seen_score = -1;   // the modified score of a pair of query and key for which the mask holds
};
/// Returns the mask. Requires: `kernel` has an `attention`.
ScoreMask score_mask(const Kernel& kernel);

/// The least and the largest value that an instruction has in the rectangle.
template <typename V>
struct Interval {
  V least, most;
};

/// Generates code for the state of a mask over a rectangle: 0 if the mask is false everywhere, 2 if it is
/// true everywhere, 1 if it is mixed or unknown. `Code` is a class that emits values of its type V, either
/// LLVM IR or thread IR. It has these functions:
///   number(n), sum(a, b), difference(a, b)      integers
///   places(dim)                                 the interval of the index along dim 0 to 3: batch, head,
///                                               query, key
///   load(id, dim)                               the interval of the values that load `id` reads. dim: the
///                                               values change along this dim only (2 or 3); -1: they
///                                               change along neither dim
///   test(a, op, b), all(x, y), any(x, y)        booleans: a comparison, "and", "or"
///   state(always, never)                        the state 2 if `always` holds, 0 if `never` holds, else 1
///   opposite(state)                             the state of the negated mask
///   least(a, b), most(a, b)                     minimum and maximum, of integers or states
///   kept(a)                                     a, stored in a variable because it is used several times
///   choose(state, a, b, c)                      a if the state is 2, b if it is 0, else c
template <typename Code>
class MaskIntervals {
 public:
  using V = typename Code::V;

  MaskIntervals(const Kernel& kernel, Code& code) : kernel_(kernel), code_(code) {}

  /// Returns the state of the mask that instruction `id` computes.
  V state(int id) {
    const Instruction& x = instruction(id);
    if (x.kind == Instruction::Kind::constant) return code_.number(x.number != 0 ? 2 : 0);
    if (x.kind != Instruction::Kind::scalar) return code_.number(1);
    if (x.scalar_op == ScalarOp::logical_and) return code_.least(state(x.operands[0]), state(x.operands[1]));
    if (x.scalar_op == ScalarOp::logical_or) return code_.most(state(x.operands[0]), state(x.operands[1]));
    if (x.scalar_op == ScalarOp::logical_not) return code_.opposite(state(x.operands[0]));
    return comparison(x);
  }

 private:
  const Instruction& instruction(int id) const { return kernel_.instructions[static_cast<size_t>(id)]; }

  /// Returns the state of a comparison; 1 if an operand has no known interval.
  V comparison(const Instruction& x) {
    if (x.operands.size() != 2) return code_.number(1);
    const auto a = interval(x.operands[0]), b = interval(x.operands[1]);
    if (!a || !b) return code_.number(1);
    const auto order = [&](const V& a1, ScalarOp always, const V& b1, const V& a0, ScalarOp never,
                           const V& b0) {
      return code_.state(code_.test(a1, always, b1), code_.test(a0, never, b0));
    };
    switch (x.scalar_op) {
      case ScalarOp::ge:
        return order(a->least, ScalarOp::ge, b->most, a->most, ScalarOp::lt, b->least);
      case ScalarOp::gt:
        return order(a->least, ScalarOp::gt, b->most, a->most, ScalarOp::le, b->least);
      case ScalarOp::le:
        return order(a->most, ScalarOp::le, b->least, a->least, ScalarOp::gt, b->most);
      case ScalarOp::lt:
        return order(a->most, ScalarOp::lt, b->least, a->least, ScalarOp::ge, b->most);
      case ScalarOp::eq:
        return code_.state(is_one(*a, *b), is_apart(*a, *b));
      case ScalarOp::ne:
        return code_.state(is_apart(*a, *b), is_one(*a, *b));
      default:
        return code_.number(1);
    }
  }

  /// Returns whether both intervals consist of the same single number.
  V is_one(const Interval<V>& a, const Interval<V>& b) {
    return code_.all(
        code_.all(code_.test(a.least, ScalarOp::eq, a.most), code_.test(b.least, ScalarOp::eq, b.most)),
        code_.test(a.least, ScalarOp::eq, b.least));
  }
  /// Returns whether the intervals have no number in common.
  V is_apart(const Interval<V>& a, const Interval<V>& b) {
    return code_.any(code_.test(a.most, ScalarOp::lt, b.least), code_.test(a.least, ScalarOp::gt, b.most));
  }

  /// Returns the interval of an i32 that is computed from indices, constants and loads that change along
  /// queries or along keys, but not along both. Returns nothing for other values.
  std::optional<Interval<V>> interval(int id) {
    const Instruction& x = instruction(id);
    switch (x.kind) {
      case Instruction::Kind::constant: {
        const V number = code_.number(static_cast<int64_t>(x.number));
        return Interval<V>{number, number};
      }
      case Instruction::Kind::index:
        return code_.places(static_cast<int>(dim_of(x.axis)));
      case Instruction::Kind::load:
        return of_load(id);
      case Instruction::Kind::scalar:
        return x.scalar_op == ScalarOp::select ? of_choice(x) : of_sum(x);
      default:
        return std::nullopt;
    }
  }

  /// Returns the dim of an axis of the kernel: 0 to 3 for batch, head, query and key.
  int64_t dim_of(int axis) const {
    const auto& axes = kernel_.attention->axes;
    return std::find(axes.begin(), axes.end(), axis) - axes.begin();
  }

  std::optional<Interval<V>> of_load(int id) {
    const Instruction& x = instruction(id);
    if (x.access.computed >= 0 || x.predicate >= 0 || x.dtype != DType::i32) return std::nullopt;
    const auto& axes = kernel_.attention->axes;
    const auto moves = [&](size_t dim) {
      const auto axis = static_cast<size_t>(axes[dim]);
      return axis < x.access.strides.size() && !x.access.strides[axis].is_zero();
    };
    if (moves(2) && moves(3)) return std::nullopt;
    return code_.load(id, moves(2) ? 2 : moves(3) ? 3 : -1);
  }

  std::optional<Interval<V>> of_sum(const Instruction& x) {
    if (x.dtype != DType::i32 || (x.scalar_op != ScalarOp::add && x.scalar_op != ScalarOp::sub))
      return std::nullopt;
    const auto a = interval(x.operands[0]), b = interval(x.operands[1]);
    if (!a || !b) return std::nullopt;
    if (x.scalar_op == ScalarOp::add)
      return Interval<V>{code_.sum(a->least, b->least), code_.sum(a->most, b->most)};
    return Interval<V>{code_.difference(a->least, b->most), code_.difference(a->most, b->least)};
  }

  /// Returns the interval of the operand that a select chooses. If its condition is mixed or unknown, returns
  /// the smallest interval that contains the intervals of both operands.
  std::optional<Interval<V>> of_choice(const Instruction& x) {
    if (x.dtype != DType::i32) return std::nullopt;
    const auto a = interval(x.operands[1]), b = interval(x.operands[2]);
    if (!a || !b) return std::nullopt;
    const V which = code_.kept(state(x.operands[0]));
    return Interval<V>{code_.kept(code_.choose(which, a->least, b->least, code_.least(a->least, b->least))),
                       code_.kept(code_.choose(which, a->most, b->most, code_.most(a->most, b->most)))};
  }

  const Kernel& kernel_;
  Code& code_;
};

}  // namespace smelt
