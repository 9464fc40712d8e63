// Reductions and matmul.
#include <algorithm>

#include "ir/evaluate/evaluate_ops.h"
#include "ir/evaluate/reduction.h"
#include "ir/evaluate/rounding.h"
#include "ir/ops/matmul_spec.h"

namespace smelt::evaluation {
namespace {

/// Offsets into the operand: the begin of each result's elements, and the elements relative to it.
struct ReductionPlan {
  std::vector<int64_t> kept, reduced;
  ReductionPlan(const Sizes& shape, const std::vector<int64_t>& axes) {
    const Sizes strides = row_major_strides(shape);
    Sizes sizes[2], steps[2];
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
      sizes[goes].push_back(shape[i]);
      steps[goes].push_back(strides[i]);
    }
    kept = offsets(sizes[0], steps[0]);
    reduced = offsets(sizes[1], steps[1]);
  }
};

/// The elements of a row, from `row` on.
std::vector<Bounded> elements(const Bounded* row, const std::vector<int64_t>& places) {
  std::vector<Bounded> values;
  for (const int64_t at : places) values.push_back(row[at]);
  return values;
}

/// Reduces as reduce() does, with bounds for every order of the elements.
Arrays<Bounded> reduce_bounded(const Call<Bounded>& call) {
  const Array<Bounded>& x = call.operand(0);
  const ReductionPlan plan(x.shape, call.node.get(attr::axes));
  Arrays<Bounded> results;
  for (size_t i = 0; i < call.shapes.size(); ++i) results.push_back(call.zeros(i));
  for (size_t i = 0; i < plan.kept.size(); ++i) {
    const auto row =
        reduce_bounded(call.node.reduce_op, elements(x.data.data() + plan.kept[i], plan.reduced));
    for (size_t r = 0; r < results.size(); ++r) results[r].data[i] = row[r];
  }
  return results;
}

template <ReduceOp op, typename S>
Arrays<S> reduce(const Call<S>& call) {
  using R = Reduction<op, S>;
  const Array<S>& x = call.operand(0);
  const ReductionPlan plan(x.shape, call.node.get(attr::axes));
  Arrays<S> results;
  for (size_t i = 0; i < call.shapes.size(); ++i) results.push_back(call.zeros(i));
  for (size_t i = 0; i < plan.kept.size(); ++i) {
    auto state = R::identity();
    for (size_t j = 0; j < plan.reduced.size(); ++j)
      state = R::combine(state, R::lift(x.data[plan.kept[i] + plan.reduced[j]], S(static_cast<double>(j))));
    const auto finished = R::finish(state);
    for (size_t r = 0; r < results.size(); ++r) results[r].data[i] = finished[r];
  }
  return results;
}

/// The sum of integers, which is exact but for the errors of its terms.
template <typename S>
S with_errors_of(const S& sum, [[maybe_unused]] const S* row,
                 [[maybe_unused]] const std::vector<int64_t>& places) {
  if constexpr (std::is_same_v<S, Bounded>) {
    double error = 0;
    for (const int64_t at : places) error += row[at].error;
    return {sum.value, error};
  }
  return sum;
}

/// Sums of integers wrap around as they do in kernels.
template <typename S>
Arrays<S> sum_integers(const Call<S>& call) {
  const Array<S>& x = call.operand(0);
  const ReductionPlan plan(x.shape, call.node.get(attr::axes));
  Array<S> result = call.zeros();
  const DType own = call.node.result()->dtype(), type = own == DType::boolean ? DType::i32 : own;
  for (size_t i = 0; i < plan.kept.size(); ++i) {
    uint64_t sum = 0;
    for (const int64_t at : plan.reduced)
      sum += static_cast<uint64_t>(static_cast<int64_t>(math::primal(x.data[plan.kept[i] + at])));
    result.data[i] = with_errors_of(number_of_integer<S>(call.node, wrapped(type, static_cast<int64_t>(sum))),
                                    x.data.data() + plan.kept[i], plan.reduced);
  }
  return {std::move(result)};
}

}  // namespace

template <typename S>
static Arrays<S> reduce_elements(const Call<S>& call) {
  switch (call.node.reduce_op) {
#define SMELT_REDUCE(name) \
  case ReduceOp::name:     \
    return reduce<ReduceOp::name>(call);
    SMELT_REDUCE_OPS(SMELT_REDUCE)
#undef SMELT_REDUCE
  }
  return {};
}
static Arrays<Bounded> reduce_elements(const Call<Bounded>& call) { return reduce_bounded(call); }

template <typename S>
Arrays<S> evaluate_reduce(const Call<S>& call) {
  const DType type = call.node.result()->dtype();
  const bool is_whole = !is_float(type) && type != DType::boolean;
  return call.node.is(ReduceOp::add) && is_whole ? sum_integers(call) : reduce_elements(call);
}

namespace {

bool contains(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Offsets of a tensor along some of its letters, in the order of `order`; a letter that it lacks does not
/// move it.
std::vector<int64_t> letter_offsets(const std::string& order, const std::string& letters, const Sizes& shape,
                                    const std::map<char, int64_t>& sizes) {
  const Sizes own = row_major_strides(shape);
  Sizes extents, strides;
  for (char letter : order) {
    const size_t place = letters.find(letter);
    extents.push_back(sizes.at(letter));
    strides.push_back(place == std::string::npos ? 0 : own[place]);
  }
  return offsets(extents, strides);
}

/// The letters by part: batch (in all three), summed (in both operands), and those of one operand.
struct LetterGroups {
  std::string batch, rows, columns, summed;
  explicit LetterGroups(const MatmulSpec& spec) {
    for (char letter : spec.a)
      (!contains(spec.b, letter) ? rows : contains(spec.out, letter) ? batch : summed) += letter;
    for (char letter : spec.b)
      if (!contains(spec.a, letter)) columns += letter;
  }
};

template <typename S>
struct Matmul {
  MatmulSpec spec;
  LetterGroups groups;
  const Array<S>&a, &b;
  Array<S>& out;
  std::map<char, int64_t> sizes;

  std::vector<int64_t> of_a(const std::string& order) const {
    return letter_offsets(order, spec.a, a.shape, sizes);
  }
  std::vector<int64_t> of_b(const std::string& order) const {
    return letter_offsets(order, spec.b, b.shape, sizes);
  }
  std::vector<int64_t> of_out(const std::string& order) const {
    return letter_offsets(order, spec.out, out.shape, sizes);
  }

  /// For every batch element: b's part packed as [summed][columns], then each row as a sum of its rows.
  void run() {
    const auto a_batch = of_a(groups.batch), b_batch = of_b(groups.batch), out_batch = of_out(groups.batch);
    const auto a_rows = of_a(groups.rows), a_summed = of_a(groups.summed), out_rows = of_out(groups.rows);
    const auto b_places = of_b(groups.summed + groups.columns), out_columns = of_out(groups.columns);
    std::vector<S> packed(b_places.size()), row(out_columns.size());
    for (size_t batch = 0; batch < a_batch.size(); ++batch) {
      for (size_t i = 0; i < packed.size(); ++i) packed[i] = b.data[b_batch[batch] + b_places[i]];
      for (size_t m = 0; m < a_rows.size(); ++m) {
        // An empty sum has no memory to point into.
        const S* from = a_summed.empty() ? nullptr : a.data.data() + a_batch[batch] + a_rows[m];
        sum_row(from, a_summed, packed, row);
        S* to = out.data.data() + out_batch[batch] + out_rows[m];
        for (size_t n = 0; n < row.size(); ++n) to[out_columns[n]] = row[n];
      }
    }
  }

  static void sum_row(const S* from, const std::vector<int64_t>& summed, const std::vector<S>& packed,
                      std::vector<S>& row) {
    if constexpr (std::is_same_v<S, Bounded>) return sum_bounded(from, summed, packed, row);
    std::fill(row.begin(), row.end(), S(0));
    S* y = row.data();
    const size_t columns = row.size();
    for (size_t k = 0; k < summed.size(); ++k) {
      const S factor = from[summed[k]];
      const S* b_row = packed.data() + k * columns;
      for (size_t n = 0; n < columns; ++n) y[n] += factor * b_row[n];
    }
  }

  static void sum_bounded(const Bounded* from, const std::vector<int64_t>& summed,
                          const std::vector<Bounded>& packed, std::vector<Bounded>& row) {
    std::vector<bounding::Sum> sums(row.size());
    for (size_t k = 0; k < summed.size(); ++k)
      for (size_t n = 0; n < row.size(); ++n) sums[n].add(from[summed[k]] * packed[k * row.size() + n]);
    std::ranges::transform(sums, row.begin(), &bounding::Sum::result);
  }
};

}  // namespace

template <typename S>
Arrays<S> evaluate_matmul(const Call<S>& call) {
  const MatmulSpec spec = parse_matmul_spec(call.node.get(attr::spec));
  Array<S> result = call.zeros();
  const Array<S>&a = call.operand(0), &b = call.operand(1);
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < spec.a.size(); ++i) sizes[spec.a[i]] = a.shape[i];
  for (size_t i = 0; i < spec.b.size(); ++i) sizes[spec.b[i]] = b.shape[i];
  Matmul<S>{spec, LetterGroups(spec), a, b, result, std::move(sizes)}.run();
  if (call.node.body) return {std::move(result)};  // rounded in there, if at all
  return {stored(call, std::move(result))};
}

SMELT_EVALUATE_ALL(evaluate_reduce)
SMELT_EVALUATE_ALL(evaluate_matmul)

}  // namespace smelt::evaluation
