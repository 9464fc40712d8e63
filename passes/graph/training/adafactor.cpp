// Adafactor: Adam without a first moment, whose second moment of a matrix is the product of a number per row
// and a number per column (Shazeer and Stern, 2018, arXiv:1804.04235), as torch.optim.Adafactor.
//
//   r = r + t^-0.8 (mean of g^2 over columns - r)      c: likewise over rows
//   u = g / sqrt(r c / mean(r))                        of vectors: g / sqrt(v), v a running mean of g^2
//   p = p (1 - lr weight_decay) - min(lr, 1 / sqrt(t)) max(0.001, rms(p)) / max(1, rms(u)) u
//
// Tensors of one shape are a batch, so that the number of kernels does not depend on the number of layers.
// The states "adafactor.rows", "adafactor.columns" and "adafactor.v" have these numbers in the order of the
// batches.
#include <limits>

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/training/segment_subset.h"
#include "passes/graph/training/update_context.h"

namespace smelt {
namespace {

constexpr double kLeastVariance = std::numeric_limits<float>::epsilon(), kLeastScale = 1e-3;
constexpr double kBeta2Decay = -0.8, kLargestRms = 1;

/// Tensors of one shape: [tensors, stacked matrices, rows, columns], or [tensors, elements] of vectors.
struct EqualTensors {
  size_t first = 0;                                       // segment of the subset
  int64_t tensors = 0, stack = 1, rows = 0, columns = 0;  // rows = 0: vectors
  std::vector<size_t> segments = {};
  bool is_factored() const { return rows > 0; }
  Shape shape() const {
    return is_factored() ? Shape{tensors, stack, rows, columns} : Shape{tensors, columns};
  }
  int64_t elements() const { return *element_count(shape()).constant(); }
  std::vector<int64_t> axes() const {  // of one tensor
    return is_factored() ? std::vector<int64_t>{1, 2, 3} : std::vector<int64_t>{1};
  }
};

EqualTensors tensor_of(const Segment& segment) {
  const size_t rank = segment.shape.size();
  if (rank < 2) return {.columns = segment.elements()};
  const int64_t rows = segment.shape[rank - 2], columns = segment.shape[rank - 1];
  return {.stack = segment.elements() / (rows * columns), .rows = rows, .columns = columns};
}

std::vector<EqualTensors> equal_tensors(const SegmentSubset& subset) {
  std::vector<EqualTensors> batches;
  for (size_t i = 0; i < subset.numbers().size(); ++i) {
    EqualTensors tensor = tensor_of(subset.segment(i));
    const bool is_new = i == 0 || subset.segment(i).shape != subset.segment(i - 1).shape;
    if (is_new) batches.push_back(tensor), batches.back().first = i;
    batches.back().segments.push_back(subset.numbers()[i]);
    ++batches.back().tensors;
  }
  return batches;
}

/// A state of the optimizer that batches take slices of, in their order.
class SlicedState {
 public:
  SlicedState(const UpdateContext& c, std::string name) : c_(c), name_(std::move(name)) {}

  /// Declares the state, with as many numbers as the slices that follow.
  void declare(int64_t elements) {
    if (elements == 0) return;
    declare_vector_state(c_.b.module(), name_, {elements});
    before_ = c_.b.state(name_);
  }
  /// Returns the next numbers of a slice: its own, moved by `weight`, a scalar, towards `target`.
  Value* next(Value* target, Value* weight) {
    GraphBuilder& b = c_.b;
    const Dim count = element_count(target->shape());
    Value* own = b.reshape(b.slice(before_, 0, end_, count), target->shape());
    Value* next = b.add(own, b.mul(c_.spread(weight, own), b.sub(target, own)));
    end_ += *count.constant();
    parts_.push_back(b.reshape(next, {count}));
    return next;
  }
  void write() const {
    if (before_) c_.write(name_, c_.b.concat(parts_, 0), before_);
  }

 private:
  const UpdateContext& c_;
  const std::string name_;
  Value* before_ = nullptr;
  int64_t end_ = 0;
  std::vector<Value*> parts_;
};

/// The emission of one update.
class AdafactorUpdate {
 public:
  explicit AdafactorUpdate(const UpdateContext& c)
      : c_(c),
        b_(c.b),
        subset_(c.b, c.flat, by_shape(c.flat)),
        batches_(equal_tensors(subset_)),
        rows_(c, "adafactor.rows"),
        columns_(c, "adafactor.columns"),
        v_(c, "adafactor.v") {}

  void emit() {
    declare();
    std::vector<Value*> steps;
    for (const EqualTensors& batch : batches_) {
      const auto read = [&](Value* flat) { return subset_.batch(flat, batch.first, batch.shape()); };
      Value* p = widened(b_, read(b_.state(kParameters)));
      Value* step = step_of(batch, p, c_.gradient(read(c_.gradients)));
      steps.push_back(b_.reshape(step, {batch.elements()}));
    }
    for (const SlicedState* state : {&rows_, &columns_, &v_}) state->write();
    c_.write_parameters(b_.sub(c_.decayed_parameters(), subset_.spread(b_.concat(steps, 0))));
  }

 private:
  static std::vector<size_t> by_shape(const State& flat) {
    std::vector<size_t> numbers(flat.segments.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    llvm::stable_sort(numbers,
                      [&](size_t i, size_t j) { return flat.segments[i].shape < flat.segments[j].shape; });
    return numbers;
  }

  void declare() {
    int64_t rows = 0, columns = 0, v = 0;
    for (const EqualTensors& batch : batches_) {
      const int64_t matrices = batch.is_factored() ? batch.tensors * batch.stack : 0;
      rows += matrices * batch.rows, columns += matrices * batch.columns;
      v += batch.is_factored() ? 0 : batch.elements();
    }
    rows_.declare(rows), columns_.declare(columns), v_.declare(v);
  }

  Value* mean(Value* x, int64_t axis) const {
    return scale(b_, b_.sum(x, {axis}),
                 1 / static_cast<double>(*x->shape()[static_cast<size_t>(axis)].constant()));
  }
  /// Root mean squares of the tensors of a batch: [tensors].
  Value* rms(const EqualTensors& batch, Value* x) const {
    const int64_t elements = batch.elements() / batch.tensors;
    return b_.sqrt(scale(b_, b_.sum(b_.mul(x, x), batch.axes()), 1.0 / static_cast<double>(elements)));
  }

  Value* variance(const EqualTensors& batch, Value* g) {
    Value *squares = b_.mul(g, g), *weight = b_.exp(scale(b_, b_.log(c_.step), kBeta2Decay));
    if (!batch.is_factored()) return v_.next(squares, weight);
    Value *row = rows_.next(mean(squares, 3), weight), *column = columns_.next(mean(squares, 2), weight);
    Value* level = mean(row, 2);
    Value* share =
        b_.div(row, b_.broadcast(b_.max(level, b_.like(level, kLeastVariance)), {0, 1}, row->shape()));
    return b_.mul(b_.broadcast(share, {0, 1, 2}, g->shape()), b_.broadcast(column, {0, 1, 3}, g->shape()));
  }

  /// The smaller of the learning rates of the batch's tensors and 1 / sqrt(t): [tensors].
  Value* rates(const EqualTensors& batch) const {
    Value* rate = everywhere(b_, c_.learning_rate, {batch.tensors});
    if (!c_.groups.rates.empty()) {
      std::vector<double> factors;
      for (const size_t segment : batch.segments) factors.push_back(c_.groups.rates[segment]);
      rate = b_.mul(rate, b_.table(factors, rate->type));
    }
    return b_.min(rate, everywhere(b_, b_.rsqrt(c_.step), rate->shape()));
  }

  /// Returns the difference that the update subtracts from the parameters of a batch.
  Value* step_of(const EqualTensors& batch, Value* p, Value* g) {
    Value* v = variance(batch, g);
    Value* u = b_.mul(g, b_.rsqrt(b_.max(v, b_.like(v, kLeastVariance * kLeastVariance))));
    Value *size = rms(batch, p), *excess = scale(b_, rms(batch, u), 1 / kLargestRms);
    Value* rate = b_.mul(rates(batch), b_.max(size, b_.like(size, kLeastScale)));
    rate = b_.div(rate, b_.max(excess, b_.like(excess, 1)));
    return b_.mul(b_.broadcast(rate, {0}, u->shape()), u);
  }

  const UpdateContext& c_;
  GraphBuilder& b_;
  const SegmentSubset subset_;
  const std::vector<EqualTensors> batches_;
  SlicedState rows_, columns_, v_;
};

}  // namespace

void adafactor(const UpdateContext& c) {
  c.require_whole("whole matrices");
  AdafactorUpdate(c).emit();
}

}  // namespace smelt
