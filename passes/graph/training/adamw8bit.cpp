// AdamW with moments in 8 bits (Dettmers et al., 2022, "8-bit Optimizers via Block-wise Quantization",
// arXiv:2110.02861). A moment is an index into a table of 256 numbers in [-1, 1], or [0, 1] for the second
// one, times the largest magnitude of its block of 256 elements. The flat state is cut into blocks from its
// begin, so a block may have the end of one parameter and the begin of the next one.
//
//   m = table[code + 128] * scale      code: i8[blocks, 256], scale: f32[blocks]
//   (AdamW's update of m, v and p, in f32)
//   scale = max |m| of the block;   code = index of the nearest number to m / scale
//
// It is a kernel over rows of blocks: one sweep finds the two largest magnitudes, one encodes and updates.
#include <algorithm>
#include <cmath>

#include "passes/graph/training/segment_search.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kBlock = kMomentBlock;
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
    scales_ = b_.state(scales_name());
    index_ = shift(b_, b_.convert(b_.state(name), DType::i32), -kLowestCode);
    index_ =
        b_.max(b_.min(index_, b_.like(index_, static_cast<double>(map_.size()) - 1)), b_.like(index_, 0));
  }

  /// The moment before the update: f32[blocks, kBlock].
  Value* value() const {
    Value* number = b_.gather(vector_table(b_, map_, DType::f32), index_);
    return b_.mul(number, along_row(b_, scales_, number->shape()));
  }

  void write(Value* next) const {
    Value* largest = row_reduce(b_, ReduceOp::max, b_.abs(next));
    Value* divisor = b_.select(b_.gt(largest, b_.like(largest, 0)), largest, b_.like(largest, 1));
    Value* index = nearest(b_.div(next, along_row(b_, divisor, next->shape())));
    if (c_.finite) index = b_.select(c_.spread(c_.finite, index), index, index_);
    b_.update(name_, b_.convert(shift(b_, index, kLowestCode), DType::i8));
    c_.write(scales_name(), largest, scales_);
  }

 private:
  std::string scales_name() const { return name_ + ".scales"; }

  /// The index of the number that is nearest to each element, by halving steps over the middles between
  /// numbers.
  Value* nearest(Value* x) const {
    std::vector<double> middles;
    for (size_t i = 1; i < map_.size(); ++i) middles.push_back((map_[i - 1] + map_[i]) / 2);
    Value *table = vector_table(b_, middles, DType::f32), *found = b_.constant(0, {DType::i32, x->shape()});
    for (int step = 128; step > 0; step /= 2) {
      Value* middle = b_.gather(table, shift(b_, found, step - 1));
      found = b_.select(b_.gt(x, middle), shift(b_, found, step), found);
    }
    return found;
  }

  const UpdateContext& c_;
  GraphBuilder& b_;
  const std::string name_;
  const std::vector<double> map_;
  Value *scales_ = nullptr, *index_ = nullptr;
};

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
  const Shape blocks = {elements / kBlock, kBlock};
  UpdateContext rows = c;
  rows.parameters = b.reshape(c.parameters, blocks), rows.gradients = b.reshape(c.gradients, blocks);
  const BlockMoment m(rows, "adamw8bit.m", true), v(rows, "adamw8bit.v", false);
  const AdamMoments next = next_moments(rows, m.value(), v.value(), rows.gradient());
  m.write(next.m), v.write(next.v);
  Value* rate = rows.rates(b.div(c.learning_rate, bias_correction(c, *c.options.beta1)));
  Value* updated = b.sub(rows.decayed_parameters(), b.mul(rate, adam_direction(rows, next)));
  c.write_parameters(b.reshape(updated, c.flat.shape));
}

}  // namespace smelt
