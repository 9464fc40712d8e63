// AdamW with moments in 8 bits (Dettmers et al., 2022, "8-bit Optimizers via Block-wise Quantization",
// arXiv:2110.02861). A moment is an index into a table of 256 numbers in [-1, 1], or [0, 1] for the second
// one, times the largest magnitude of its block of 256 elements. The flat state is cut into blocks from its
// begin, so a block may have the end of one parameter and the begin of the next one.
//
//   m = table[code + 128] * scale      code: i8[blocks, 256], scale: f32[blocks]
//   (AdamW's update of m, v and p, in f32)
//   scale = max |m| of the block;   code = index of the nearest number to m / scale
//
// One kernel finds the largest magnitudes of the blocks, and another one, which is pointwise, updates the
// codes and the parameters in place. The first one reads blocks as matrices, so that it is not fused with the
// second one: a kernel over both could not write into the memory that it reads.
#include <algorithm>
#include <cmath>

#include "passes/graph/training/segment_search.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kBlock = kMomentBlock, kSide = 16;
constexpr double kLowestCode = -128;

/// The dynamic data type of the paper: of each power of ten from 1e-6 to 1, twice as many numbers as of the
/// one before, evenly spaced; 0, and 1. Ascending, 256 numbers.
std::vector<double> dynamic_map(bool is_signed) {
  constexpr int kPowers = 7;
  std::vector<double> numbers = {0, 1};
  for (int i = 0; i < kPowers; ++i) {
    const int count = 1 << (is_signed ? i : i + 1);
    for (int j = 0; j < count; ++j) {
      const double number = (0.1 + 0.9 * (j + 0.5) / count) * std::pow(10, i - (kPowers - 1));
      numbers.push_back(number);
      if (is_signed) numbers.push_back(-number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

/// One moment in blocks of codes.
class BlockMoment {
 public:
  BlockMoment(const UpdateContext& c, const std::string& name, bool is_signed)
      : c_(c), b_(c.b), name_(name), map_(dynamic_map(is_signed)) {
    const int64_t blocks = *c.flat.shape[0].constant() / kBlock;
    declare_vector_state(b_.module(), name, {blocks, kBlock}, DType::i8);
    declare_vector_state(b_.module(), scales_name(), {blocks});
    codes_ = b_.state(name), scales_ = b_.state(scales_name());
  }

  /// The moment before the update, in a shape whose first dim is that of the blocks.
  Value* value(const Shape& shape) const {
    Value* number = b_.gather(vector_table(b_, map_, DType::f32), index(shape));
    return b_.mul(number, b_.broadcast(scales_, {0}, shape));
  }

  /// Emits the update, given the moment [blocks, kBlock] and the largest magnitudes of the blocks.
  void write(Value* next, Value* largest) const {
    Value* divisor = b_.select(b_.gt(largest, b_.like(largest, 0)), largest, b_.like(largest, 1));
    Value* found = nearest(b_.div(next, along_row(b_, divisor, next->shape())));
    if (c_.finite) found = b_.select(c_.spread(c_.finite, found), found, index(found->shape()));
    b_.update(name_, b_.convert(shift(b_, found, kLowestCode), DType::i8));
    c_.write(scales_name(), largest, scales_);
  }

 private:
  std::string scales_name() const { return name_ + ".scales"; }

  Value* index(const Shape& shape) const {
    Value* index = shift(b_, b_.convert(b_.reshape(codes_, shape), DType::i32), -kLowestCode);
    const auto last = static_cast<double>(map_.size()) - 1;
    return b_.max(b_.min(index, b_.like(index, last)), b_.like(index, 0));
  }

  /// The index of the number that is nearest to each element, by halving steps over the middles between
  /// numbers.
  Value* nearest(Value* x) const {
    std::vector<double> middles;
    for (size_t i = 1; i < map_.size(); ++i) middles.push_back((map_[i - 1] + map_[i]) / 2);
    const auto count = static_cast<int64_t>(middles.size());
    Value *table = vector_table(b_, middles, DType::f32), *found = b_.constant(0, {DType::i32, x->shape()});
    for (int64_t step = std::ssize(map_) / 2; step > 0; step /= 2) {
      Value* middle = b_.gather(b_.slice(table, 0, step - 1, count - step + 1), found);
      found = b_.select(b_.gt(x, middle), shift(b_, found, static_cast<double>(step)), found);
    }
    return found;
  }

  const UpdateContext& c_;
  GraphBuilder& b_;
  const std::string name_;
  const std::vector<double> map_;
  Value *codes_ = nullptr, *scales_ = nullptr;
};

/// The update rule with the parameters and gradients of the flat state in another shape.
UpdateContext reshaped(UpdateContext c, const Shape& shape) {
  c.parameters = c.b.reshape(c.parameters, shape), c.gradients = c.b.reshape(c.gradients, shape);
  return c;
}

AdamMoments next_moments_in(const UpdateContext& c, const BlockMoment& m, const BlockMoment& v) {
  const Shape& shape = c.parameters->shape();
  return next_moments(c, m.value(shape), v.value(shape), c.gradient());
}

}  // namespace

void adamw8bit(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  c.require_whole("whole blocks of moments");
  const int64_t elements = *c.flat.shape[0].constant();
  if (elements % kBlock != 0)
    fail(
        "optimiser adamw8bit: {} elements of parameters are no blocks of {}: run "
        "flatten_parameters{{multiple={}}}",
        elements, kBlock, kBlock);
  const int64_t blocks = elements / kBlock;
  const BlockMoment m(c, "adamw8bit.m", true), v(c, "adamw8bit.v", false);
  const AdamMoments swept = next_moments_in(reshaped(c, {blocks, kSide, kBlock / kSide}), m, v);
  const auto largest = [&](Value* moment) { return b.reduce(ReduceOp::max, b.abs(moment), {1, 2}); };
  const UpdateContext rows = reshaped(c, {blocks, kBlock});
  const AdamMoments next = next_moments_in(rows, m, v);
  m.write(next.m, largest(swept.m)), v.write(next.v, largest(swept.v));
  Value* rate = rows.rates(b.div(c.learning_rate, bias_correction(c, *c.options.beta1)));
  Value* updated = b.sub(rows.decayed_parameters(), b.mul(rate, adam_direction(rows, next)));
  c.write_parameters(b.reshape(updated, c.flat.shape));
}

}  // namespace smelt
