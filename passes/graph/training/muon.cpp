// Muon: the momentum of each hidden matrix, orthogonalized by Newton-Schulz iterations (Jordan et al., 2024,
// "Muon: An optimizer for hidden layers in neural networks"), as torch.optim.Muon. NorMuon divides each row
// of the orthogonal matrix by its running root mean square (Li et al., 2025, arXiv:2510.05491). AdamW updates
// all other parameters.
//
//   m = m + (1 - momentum) (g - m)
//   O = newton_schulz(g + momentum (m - g))
//   p = p (1 - lr weight_decay) - lr f O            f: MatrixRate
//
// The states have the moment "muon.m" of all parameters, the second moment "muon.v" of those of AdamW alone,
// and for normuon a number "muon.rows" per row of a matrix. Matrices of one shape are a batch: each iteration
// is three matmuls per shape. They
// have the storage type of the weights, as Jordan's have bf16.
#include <cmath>
#include <set>

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/training/segment_search.h"
#include "passes/graph/training/segment_subset.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Jordan's quintic x -> a x + b x^3 + c x^5, five times: singular values in (0, 1] come near 1.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315, kLeastNorm = 1e-7, kLeastRow = 1e-10;
constexpr int kIterations = 5;

int64_t columns_of(const Segment& segment) { return segment.shape.back(); }
int64_t rows_of(const Segment& segment) { return segment.shape[segment.shape.size() - 2]; }
int64_t matrices_of(const Segment& segment) {
  return segment.elements() / (rows_of(segment) * columns_of(segment));
}

/// Matrices of one shape that are adjacent in the compact vector.
struct Batch {
  size_t first = 0;  // segment of the subset
  int64_t matrices = 0, rows = 0, columns = 0, first_row = 0;
  Shape shape() const { return {matrices, rows, columns}; }
  int64_t all_rows() const { return matrices * rows; }
};

std::vector<Batch> batches_of(const SegmentSubset& subset) {
  std::vector<Batch> batches;
  int64_t row = 0;
  for (size_t i = 0; i < subset.numbers().size(); ++i) {
    const Segment& segment = subset.segment(i);
    const int64_t rows = rows_of(segment), columns = columns_of(segment);
    if (batches.empty() || batches.back().rows != rows || batches.back().columns != columns)
      batches.push_back({i, 0, rows, columns, row});
    batches.back().matrices += matrices_of(segment);
    row += matrices_of(segment) * rows;
  }
  return batches;
}

DType multiplied_type(const UpdateContext& c) {
  const State* copy = parameter_copy(c.b.module());
  return copy ? copy->dtype : c.flat.dtype;
}

/// The norm of each matrix of a batch [matrices, rows, columns], in that shape.
Value* norms(GraphBuilder& b, Value* x) {
  return b.broadcast(b.sqrt(b.sum(b.mul(x, x), {1, 2})), {0}, x->shape());
}

/// One iteration: X (a + b G + c G G), where G is X^T X, or from the left with X X^T, whichever is smaller.
/// All products have the type of X.
Value* iterate(GraphBuilder& b, Value* x, bool is_tall) {
  Value* gram = b.matmul(x, x, is_tall ? "kab,kac->kbc" : "kab,kcb->kac");
  Value* square = b.matmul(gram, gram, "kab,kbc->kac");
  Value* sum = b.add(scale(b, widened(b, gram), kB), scale(b, widened(b, square), kC));
  sum = b.convert(sum, x->dtype());
  Value* change = is_tall ? b.matmul(x, sum, "kab,kbc->kac") : b.matmul(sum, x, "kab,kbc->kac");
  return b.convert(b.add(scale(b, widened(b, x), kA), widened(b, change)), x->dtype());
}

Value* orthogonalized(GraphBuilder& b, DType dtype, Value* x, bool is_tall) {
  Value* norm = norms(b, x);
  x = b.convert(b.div(x, b.max(norm, b.like(norm, kLeastNorm))), dtype);
  for (int i = 0; i < kIterations; ++i) x = iterate(b, x, is_tall);
  return widened(b, x);
}

double rate_factor(const Segment& segment, MatrixRate rate) {
  const auto rows = static_cast<double>(rows_of(segment)), columns = static_cast<double>(columns_of(segment));
  if (rate == MatrixRate::original) return std::sqrt(std::max(1.0, rows / columns));
  return 0.2 * std::sqrt(std::max(rows, columns));
}

/// The emission of one update.
class MuonUpdate {
 public:
  MuonUpdate(const UpdateContext& c, bool divides_rows)
      : c_(c), b_(c.b), divides_rows_(divides_rows), type_(multiplied_type(c)) {
    divide_segments();
  }

  void emit() {
    Value* m = c_.moment("muon.m");
    Value* orthogonal = matrices().spread(directions(m));
    Value* next =
        b_.add(m, b_.mul(weights(1 - *c_.options.momentum, 1 - *c_.options.beta1), b_.sub(c_.gradient(), m)));
    Value* direction = orthogonal;
    if (!others_.empty()) direction = b_.select(is_matrix(), orthogonal, adam_direction_of(next));
    c_.write("muon.m", next, m);
    Value* rates = b_.mul(c_.rates(c_.learning_rate), SegmentNumbers(b_, c_.flat).find(factors()));
    c_.write_parameters(b_.sub(decayed(), b_.mul(rates, direction)));
  }

 private:
  /// Sorts matrices by shape.
  void divide_segments() {
    const std::set<std::string, std::less<>> names(c_.options.matrices.begin(), c_.options.matrices.end());
    for (size_t i = 0; i < c_.flat.segments.size(); ++i)
      (names.contains(c_.flat.segments[i].name) ? hidden_ : others_).push_back(i);
    llvm::stable_sort(hidden_, [&](size_t i, size_t j) { return shape_of(i) < shape_of(j); });
  }
  std::pair<int64_t, int64_t> shape_of(size_t segment) const {
    return {rows_of(c_.flat.segments[segment]), columns_of(c_.flat.segments[segment])};
  }
  SegmentSubset matrices() const { return {b_, c_.flat, hidden_}; }

  std::vector<double> by_kind(double matrix, double other) const {
    std::vector<double> values(c_.flat.segments.size(), other);
    for (const size_t i : hidden_) values[i] = matrix;
    return values;
  }
  Value* weights(double matrix, double other) const {
    if (others_.empty()) return b_.like(c_.parameters, matrix);
    return SegmentNumbers(b_, c_.flat).find(by_kind(matrix, other));
  }
  Value* is_matrix() const {
    Value* kind = SegmentNumbers(b_, c_.flat).find(by_kind(1, 0), DType::i32);
    return b_.gt(kind, b_.like(kind, 0));
  }
  std::vector<double> factors() const {
    std::vector<double> values = by_kind(0, c_.options.adamw_rate);
    for (const size_t i : hidden_) values[i] = rate_factor(c_.flat.segments[i], c_.options.matrix_rate);
    return values;
  }

  /// Nesterov's momentum: where the next step would begin.
  Value* looked_ahead(Value* g, Value* m) const {
    Value* next = b_.add(m, scale(b_, b_.sub(g, m), 1 - *c_.options.momentum));
    return b_.add(g, scale(b_, b_.sub(next, g), *c_.options.momentum));
  }

  /// The orthogonal matrices, as a compact vector.
  Value* directions(Value* m) const {
    const SegmentSubset subset = matrices();
    const std::vector<Batch> batches = batches_of(subset);
    std::vector<Value*> parts;
    for (const Batch& batch : batches) {
      const auto read = [&](Value* flat) { return subset.batch(flat, batch.first, batch.shape()); };
      Value* x = looked_ahead(c_.gradient(read(c_.gradients)), read(m));
      parts.push_back(orthogonalized(b_, type_, x, batch.rows > batch.columns));
    }
    if (divides_rows_) divide_rows(batches, parts);
    for (Value*& part : parts) part = b_.reshape(part, {element_count(part->shape())});
    return b_.concat(parts, 0);
  }

  /// Divides each row by the root of its running mean square, and keeps the norm of each matrix.
  void divide_rows(const std::vector<Batch>& batches, std::vector<Value*>& parts) const {
    const int64_t rows = batches.back().first_row + batches.back().all_rows();
    declare_vector_state(b_.module(), "muon.rows", {rows});
    Value* before = b_.state("muon.rows");
    std::vector<Value*> means;
    for (auto [batch, x] : llvm::zip(batches, parts)) {
      Value* mean = scale(b_, row_sum(b_, b_.mul(x, x)), 1 / static_cast<double>(batch.columns));
      means.push_back(b_.reshape(mean, {batch.all_rows()}));
    }
    Value* next = b_.add(before, scale(b_, b_.sub(b_.concat(means, 0), before), 1 - *c_.options.beta2));
    c_.write("muon.rows", next, before);
    for (auto [batch, x] : llvm::zip(batches, parts)) {
      Value* row =
          b_.reshape(b_.slice(next, 0, batch.first_row, batch.all_rows()), {batch.matrices, batch.rows});
      x = with_equal_norm(x, b_.div(x, along_row(b_, shift(b_, b_.sqrt(row), kLeastRow), x->shape())));
    }
  }
  Value* with_equal_norm(Value* from, Value* to) const {
    return b_.mul(to, b_.div(norms(b_, from), shift(b_, norms(b_, to), kLeastRow)));
  }

  /// AdamW's direction of the other parameters.
  Value* adam_direction_of(Value* m) const {
    const SegmentSubset subset(b_, c_.flat, others_);
    declare_vector_state(b_.module(), "muon.v", {subset.elements()});
    Value *v = b_.state("muon.v"), *g = c_.gradient(subset.compact(c_.gradients));
    Value* next = b_.add(scale(b_, v, *c_.options.beta2), scale(b_, b_.mul(g, g), 1 - *c_.options.beta2));
    c_.write("muon.v", next, v);
    Value* unbiased = b_.div(m, c_.spread(bias_correction(c_, *c_.options.beta1)));
    return adam_direction(c_, {unbiased, subset.spread(next)});
  }

  /// Decoupled decay, at the learning rate of each parameter as PyTorch's groups have it.
  Value* decayed() const {
    if (c_.options.adamw_rate == 1 || c_.options.weight_decay == 0) return c_.decayed_parameters();
    Value* rates = b_.mul(c_.rates(c_.learning_rate), weights(1, c_.options.adamw_rate));
    Value* kept = shift(b_, b_.neg(b_.mul(rates, c_.weight_decays(c_.parameters))), 1);
    return c_.where_decayed(b_.mul(c_.parameters, kept), c_.parameters);
  }

  const UpdateContext& c_;
  GraphBuilder& b_;
  const bool divides_rows_;
  const DType type_;
  std::vector<size_t> hidden_, others_;  // numbers of segments
};

void require_matrices(const UpdateContext& c) {
  c.require_whole("whole matrices");
  if (c.options.matrices.empty())
    fail("--optimizer={}: no trained parameter is a hidden matrix; give --optimizer=adamw",
         name(c.options.optimizer));
}

}  // namespace

void muon(const UpdateContext& c) {
  require_matrices(c);
  MuonUpdate(c, false).emit();
}

void normuon(const UpdateContext& c) {
  require_matrices(c);
  MuonUpdate(c, true).emit();
}

}  // namespace smelt
