// Finds the blocks of scores that a mask excludes: the mask of an attention kernel, and code for its value
// over a rectangle of queries and keys by interval arithmetic.
#pragma once

#include <algorithm>
#include <optional>

#include "ir/kernel/kernel.h"

namespace smelt {

/// The mask of a score whose modified value is select(mask, score, -inf).
struct ScoreMask {
  int instruction = -1;  // of the mask; -1: there is none
  int seen_score = -1;   // what it chooses where a key is seen
};
ScoreMask score_mask(const Kernel& kernel);

/// The least and the most that a number is in the rectangle.
template <typename V>
struct Interval {
  V least, most;
};

/// Writes code for what a mask is over a rectangle: 0 false everywhere, 1 unknown or mixed, 2 true
/// everywhere. `Code` has the code's values: number, places (the interval of an axis), load, sum, difference;
/// test, all and any of truths; state (2 where the first truth holds, 0 where the second does, else 1) and
/// opposite of states; least and most of both; kept, a value that is used several times; choose (of a state
/// the first where it is 2, the second where it is 0, else the third).
template <typename Code>
class MaskIntervals {
 public:
  using V = typename Code::V;

  MaskIntervals(const Kernel& kernel, Code& code) : kernel_(kernel), code_(code) {}

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

  V is_one(const Interval<V>& a, const Interval<V>& b) {
    return code_.all(
        code_.all(code_.test(a.least, ScalarOp::eq, a.most), code_.test(b.least, ScalarOp::eq, b.most)),
        code_.test(a.least, ScalarOp::eq, b.least));
  }
  V is_apart(const Interval<V>& a, const Interval<V>& b) {
    return code_.any(code_.test(a.most, ScalarOp::lt, b.least), code_.test(a.least, ScalarOp::gt, b.most));
  }

  /// Returns the interval of an integer computed from positions, constants and values that are read once per
  /// head or change along queries or keys alone.
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

  /// Returns the dim (b, h, t or s) that an axis is.
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

  /// Returns the interval of one operand of a select, or of both where the rectangle has both cases.
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
