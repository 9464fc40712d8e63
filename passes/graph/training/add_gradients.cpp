#include "passes/graph/training/sums_over_ranks.h"

namespace smelt {
namespace {

class GradientAdder {
 public:
  GradientAdder(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients)
      : b_(b), sums_(sums), gradients_(gradients), held_(flat(b.state(sums.name))) {}

  std::vector<Value*> run() {
    std::vector<Value*> parts;
    while (parts.size() < gradients_.size()) {
      const size_t first = parts.size(), end = end_of_whole(first);
      if (end == first)
        parts.push_back(sum(first, gradients_[first]));
      else
        add_whole(first, end, parts);
    }
    return parts;
  }

 private:
  /// As one dim.
  Value* flat(Value* state) const {
    return state->rank() == 1 ? state : b_.reshape(state, {element_count(state->shape())});
  }

  /// Returns the content of the segments from `segment` on, with as many elements as the gradient.
  Value* sum(size_t segment, Value* gradient) {
    Value* held = b_.slice(held_, 0, sums_.segments[segment].offset, element_count(gradient->shape()));
    return b_.add(b_.reshape(held, gradient->shape()), gradient);
  }

  void add_whole(size_t first, size_t end, std::vector<Value*>& parts) {
    Value* whole = sum(first, gradients_[first]->node()->operand(0));
    for (size_t i = first; i < end; ++i) {
      const Node& slice = *gradients_[i]->node();
      parts.push_back(b_.slice(whole, 0, slice.get(attr::begin), slice.result()->shape()[0]));
    }
  }

  /// Behind the last of the segments from `first` on whose gradients are together one value, slice by slice;
  /// `first` where they are not.
  size_t end_of_whole(size_t first) const {
    const Value* whole = sliced(gradients_[first]);
    if (!whole) return first;
    Dim end = 0;
    size_t i = first;
    for (; i < gradients_.size() && sliced(gradients_[i]) == whole; ++i) {
      const bool follows = i == first || sums_.segments[i - 1].offset + sums_.segments[i - 1].elements() ==
                                             sums_.segments[i].offset;
      if (!follows || gradients_[i]->node()->get(attr::begin) != end) break;
      end += gradients_[i]->shape()[0];
    }
    return end == whole->shape()[0] ? i : first;
  }

  static const Value* sliced(const Value* value) {
    const Node& node = *value->node();
    return node.is(Op::slice) && node.get(attr::axis) == 0 ? node.operand(0) : nullptr;
  }

  GraphBuilder& b_;
  const State& sums_;
  llvm::ArrayRef<Value*> gradients_;
  Value* held_;
};

}  // namespace

void add_gradients(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients) {
  const std::vector<Value*> parts = GradientAdder(b, sums, gradients).run();
  b.update(sums.name,
           b.create(Op::pack, parts, {attr::state(sums.name)}, Type{sums.dtype, sums.shape})->result());
}

}  // namespace smelt
