// A sort of rows by counting: an element's place is the number of those that come before it. That is n^2
// comparisons for rows of n and needs no memory, as one kernel compares and counts; meant for rows of some
// thousands, such as the experts that tokens chose.
#include "passes/expressions.h"
#include "passes/graph/simplify/decompose.h"

namespace smelt {
namespace {

class Sort {
 public:
  Sort(GraphBuilder& b, const Node& node)
      : b_(b), x_(node.operand(0)), axis_(last_axis(x_)), descending_(node.get(attr::descending)) {
    pairs_ = x_->shape();
    pairs_.push_back(x_->shape().back());
  }

  Values run() {
    Value* places = inside(row_sum(b_, b_.convert(come_before(), DType::i32)));
    Value* origins = b_.iota({DType::i32, as_columns()}, axis_);
    return {put(b_.reshape(x_, as_columns()), places), put(origins, places)};
  }

 private:
  Shape as_columns() const {
    Shape shape = x_->shape();
    shape.push_back(1);
    return shape;
  }

  /// Fewer than all come before an element, which guard_indices cannot know.
  Value* inside(Value* places) {
    const auto count = x_->shape().back().constant();
    return count && *count > 0 ? b_.min(places, b_.like(places, static_cast<double>(*count - 1))) : places;
  }

  /// A value for each pair (i, j) of a row: of i, or of j.
  Value* over_pairs(Value* x, bool second) {
    std::vector<int64_t> axes = leading_axes(axis_ + 1);
    if (second) axes.back() = axis_ + 1;
    return b_.broadcast(x, axes, pairs_);
  }

  /// Returns whether j comes before i: its number is smaller, or the same and j < i. NaN is larger than all
  /// numbers, so that any number and each NaN in front come before one. (Which are NaN is asked of i and of j
  /// by different comparisons: one kernel has no value along both.)
  Value* come_before() {
    Value *of_i = over_pairs(x_, false), *of_j = over_pairs(x_, true);
    Value *i = b_.iota({DType::i32, pairs_}, axis_), *j = b_.iota({DType::i32, pairs_}, axis_ + 1);
    Value *in_front = b_.lt(j, i), *less = descending_ ? b_.lt(of_i, of_j) : b_.lt(of_j, of_i);
    Value* before = b_.logical_or(less, b_.logical_and(b_.eq(of_i, of_j), in_front));
    if (!is_float(x_->dtype())) return before;
    Value *larger = descending_ ? of_j : of_i, *smaller = descending_ ? of_i : of_j;
    Value* beside_nan = b_.logical_or(b_.eq(smaller, smaller), in_front);
    return b_.logical_or(before, b_.logical_and(b_.ne(larger, larger), beside_nan));
  }

  Value* put(Value* columns, Value* places) {
    Value* all = b_.insert(zeros(b_, columns->type), columns, {places}, {axis_});
    return b_.reshape(all, x_->shape());
  }

  GraphBuilder& b_;
  Value* x_;
  int64_t axis_;
  bool descending_;
  Shape pairs_;
};

}  // namespace

Values decompose_sort(GraphBuilder& b, const Node& node) { return Sort(b, node).run(); }

}  // namespace smelt
