#include "ir/analysis/op_dims.h"

#include <algorithm>
#include <map>

#include "ir/analysis/reshape_factors.h"
#include "ir/graph/body.h"
#include "ir/graph/custom_vjp.h"
#include "ir/graph/insertion.h"
#include "ir/ops/matmul_spec.h"
#include "ir/ops/windows.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace dim_rules {
namespace {

using enum DimRelation;

class Builder {
 public:
  explicit Builder(const Node& node) : node(node) {
    for (const Value* operand : node.operands()) made.operands.emplace_back(operand->shape().size());
    for (const auto& result : node.results()) made.results.emplace_back(result->shape().size());
  }

  int factor(const Dim& size, DimRelation relation = carried) {
    made.factors.push_back({relation, size});
    return static_cast<int>(made.factors.size()) - 1;
  }
  DimFactors& in(unsigned operand) { return made.operands[operand]; }
  DimFactors& out(unsigned result = 0) { return made.results[result]; }
  unsigned operands() const { return static_cast<unsigned>(made.operands.size()); }
  const Shape& shape(unsigned operand) const { return node.operand(operand)->shape(); }
  /// The shape of operand 0; of a leaf, that of the result.
  const Shape& first_shape() const { return operands() > 0 ? shape(0) : node.result()->shape(); }

  OpDims finish() {
    for (unsigned i = 0; i < operands(); ++i) complete(in(i), shape(i));
    for (unsigned i = 0; i < made.results.size(); ++i) complete(out(i), node.result(i)->shape());
    return std::move(made);
  }

  const Node& node;
  OpDims made;

 private:
  /// Dims that no rule relates are whole.
  void complete(DimFactors& dims, const Shape& shape) {
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].empty()) dims[i] = {factor(shape[i], whole)};
  }
};

/// A factor per dim of operand 0, in all operands and results that have as many dims.
void same_dims(Builder& b, llvm::function_ref<DimRelation(size_t dim)> relation) {
  const Shape& shape = b.first_shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    const int f = b.factor(shape[i], relation(i));
    for (DimFactors& dims : b.made.operands)
      if (i < dims.size()) dims[i] = {f};
    for (DimFactors& dims : b.made.results)
      if (i < dims.size()) dims[i] = {f};
  }
}

void all_dims(Builder& b, DimRelation relation) {
  same_dims(b, [&](size_t) { return relation; });
}

/// Every dim is carried but one.
void dims_but(Builder& b, size_t axis, DimRelation relation) {
  same_dims(b, [&](size_t i) { return i == axis ? relation : carried; });
}

size_t axis_of(const Builder& b) { return static_cast<size_t>(b.node.get(attr::axis)); }

// ---- elements and rows

void elementwise(Builder& b) { all_dims(b, carried); }
void counted_elements(Builder& b) { all_dims(b, counted); }
void constant(Builder& b) { all_dims(b, b.node.has(attr::values) ? counted : carried); }
void iota(Builder& b) { dims_but(b, axis_of(b), counted); }
void scan(Builder& b) { dims_but(b, axis_of(b), whole); }
void placed_parts(Builder& b) { dims_but(b, axis_of(b), placed); }
void whole_rows(Builder& b) { dims_but(b, b.shape(0).size() - 1, whole); }

/// Weights and biases are vectors over the last dim.
void norm(Builder& b) {
  dims_but(b, b.shape(0).size() - 1, whole);
  for (unsigned i = 1; i < b.operands(); ++i) b.in(i) = {b.in(0).back()};
}

/// All operands have rows of their own length, and a result has an element per row.
void row_results(Builder& b) {
  const size_t rows = b.shape(0).size() - 1;
  dims_but(b, rows, reduced);
  for (unsigned i = 1; i < b.operands(); ++i)
    if (b.in(i).size() > rows) b.in(i)[rows] = {b.factor(b.shape(i)[rows], reduced)};
}

/// Rows of codes, of zeros and scales, and of numbers have lengths of their own.
void rows_of_groups(Builder& b) {
  const size_t rows = b.shape(0).size() - 1;
  dims_but(b, rows, whole);
  for (unsigned i = 1; i < b.operands(); ++i)
    if (b.in(i).size() > rows) b.in(i)[rows] = {b.factor(b.shape(i)[rows], whole)};
}

void custom_vjp(Builder& b) {
  for (unsigned r = 0; r < b.node.result_count(); ++r)
    for (size_t i = 0; i < b.out(r).size(); ++i) b.in(r)[i] = b.out(r)[i] = {b.factor(b.shape(r)[i])};
}

/// A body relates all dims.
void body(Builder&) {}

// ---- shapes

void reduce(Builder& b) {
  const DimRelation relation = b.node.reduce_op == ReduceOp::add ? summed : reduced;
  size_t kept = 0;
  for (size_t i = 0; i < b.shape(0).size(); ++i) {
    const bool goes = llvm::is_contained(b.node.get(attr::axes), static_cast<int64_t>(i));
    b.in(0)[i] = {b.factor(b.shape(0)[i], goes ? relation : carried)};
    if (goes) continue;
    for (DimFactors& dims : b.made.results) dims[kept] = b.in(0)[i];
    ++kept;
  }
}

/// A carried factor per dim of the result.
void new_dims(Builder& b) {
  for (auto [dim, size] : llvm::zip(b.out(), b.node.result()->shape())) dim = {b.factor(size)};
}

void broadcast(Builder& b) {
  new_dims(b);
  for (auto [i, axis] : llvm::enumerate(b.node.get(attr::axes)))
    b.in(0)[i] = b.out()[static_cast<size_t>(axis)];
}

void transpose(Builder& b) {
  new_dims(b);
  for (auto [i, axis] : llvm::enumerate(b.node.get(attr::permutation)))
    b.in(0)[static_cast<size_t>(axis)] = b.out()[i];
}

void reshape(Builder& b) {
  for (const ReshapeFactor& shared : reshape_factors(b.shape(0), b.node.result()->shape())) {
    const int f = b.factor(shared.size, shared.is_clear ? carried : whole);
    if (shared.from) b.in(0)[*shared.from].push_back(f);
    if (shared.to) b.out()[*shared.to].push_back(f);
  }
}

/// The axis becomes that of the windows and that inside of one.
void windows(Builder& b) {
  const size_t axis = axis_of(b);
  for (size_t i = 0; i < b.shape(0).size(); ++i)
    b.in(0)[i] = b.out()[i <= axis ? i : i + 1] = {b.factor(b.shape(0)[i], i == axis ? placed : carried)};
  b.out()[axis + 1] = b.in(0)[axis];
}

void pack(Builder& b) {
  const int f = b.factor(element_count(b.node.result()->shape()), placed);
  const auto all = [&](DimFactors& dims) { dims.assign(dims.size(), {f}); };
  llvm::for_each(b.made.operands, all), llvm::for_each(b.made.results, all);
}

void collective(Builder& b) {
  const auto moves = [&](AttributeName<int64_t> name, size_t dim) {
    return b.node.has(name) && b.node.get(name) == static_cast<int64_t>(dim);
  };
  same_dims(b, [&](size_t i) { return moves(attr::dim, i) || moves(attr::to, i) ? placed : carried; });
}

// ---- indices

/// Dims of a table around the axis, and those of the indices in its place: the dims of `rows`.
void indexed(Builder& b, size_t axis, DimRelation of_axis, DimRelation of_indices, DimFactors& rows) {
  DimFactors &table = b.in(0), &indices = b.in(1);
  table[axis] = {b.factor(b.shape(0)[axis], of_axis)};
  for (size_t i = 0; i < table.size(); ++i) {
    if (i == axis) continue;
    table[i] = {b.factor(b.shape(0)[i])};
    rows[i < axis ? i : i + indices.size() - 1] = table[i];
  }
  for (size_t i = 0; i < indices.size(); ++i)
    rows[axis + i] = indices[i] = {b.factor(b.shape(1)[i], of_indices)};
}

void gather(Builder& b) { indexed(b, axis_of(b), looked_up, carried, b.out()); }
void embedding(Builder& b) { indexed(b, 0, looked_up, carried, b.out()); }

void scatter_add(Builder& b) {
  indexed(b, axis_of(b), placed, summed, b.in(2));
  b.out() = b.in(0);
}

/// All updates say which one of a row is the last.
void scatter(Builder& b) {
  indexed(b, axis_of(b), placed, reduced, b.in(2));
  b.out() = b.in(0);
}

/// Indices have the leading dims of the value (ir/graph/insertion.h).
void insert(Builder& b) {
  const auto axes = indexed_axes(b.node);
  const Shape& value = inserted_value(b.node)->shape();
  same_dims(b, [&](size_t i) {
    const auto moves = [&](const IndexedAxis& along) { return along.axis == static_cast<int64_t>(i); };
    return llvm::any_of(axes, moves) || b.shape(0)[i] != value[i] ? placed : carried;
  });
}

void update(Builder& b) { b.operands() == 1 ? elementwise(b) : insert(b); }

// ---- products

/// A factor per letter. Letters that the result lacks are summed, which a body makes something else of.
void product(Builder& b, llvm::ArrayRef<std::string> operands, const std::string& out) {
  std::map<char, int> letters;
  const DimRelation of_sum = b.node.body ? reduced : summed;
  for (auto [i, text] : llvm::enumerate(operands))
    for (auto [dim, letter] : llvm::enumerate(text)) {
      const auto [known, is_new] = letters.try_emplace(letter);
      const bool is_kept = out.find(letter) != std::string::npos;
      if (is_new) known->second = b.factor(b.shape(i)[dim], is_kept ? carried : of_sum);
      b.in(i)[dim] = {known->second};
    }
  DimFactors& result = b.node.body ? b.made.handed.emplace_back(out.size()) : b.out();
  for (auto [dim, letter] : llvm::enumerate(out)) result[dim] = {letters.at(letter)};
}

void matmul(Builder& b) {
  const MatmulSpec spec = parse_matmul_spec(b.node.get(attr::spec));
  product(b, {spec.a, spec.b}, spec.out);
}

void einsum(Builder& b) {
  const std::string& spec = b.node.get(attr::spec);
  const size_t comma = spec.find(','), arrow = spec.find("->");
  const std::string first = spec.substr(0, std::min(comma, arrow)), out = spec.substr(arrow + 2);
  if (comma == std::string::npos) return product(b, {first}, out);
  product(b, {first, spec.substr(comma + 1, arrow - comma - 1)}, out);
}

void linear(Builder& b) {
  const size_t last = b.shape(0).size() - 1;
  for (size_t i = 0; i < last; ++i) b.in(0)[i] = b.out()[i] = {b.factor(b.shape(0)[i])};
  const int out = b.factor(b.shape(1)[0]), in = b.factor(b.shape(1)[1], summed);
  b.in(0)[last] = {in}, b.in(1) = {{out}, {in}}, b.out()[last] = {out};
  if (b.operands() == 3) b.in(2) = {{out}};
}

/// Channels are groups of channels; positions overlap.
void conv(Builder& b) {
  const Shape &x = b.shape(0), &w = b.shape(1);
  const int64_t groups = conv_groups(b.node.attributes);
  const int batch = b.factor(x[0]), group = b.factor(groups), out = b.factor(*w[0].divide(groups)),
            in = b.factor(w[1], summed);
  b.in(0)[0] = b.out()[0] = {batch}, b.in(0)[1] = {group, in}, b.in(1)[1] = {in};
  b.in(1)[0] = b.out()[1] = {group, out};
  if (b.operands() == 3) b.in(2)[0] = {group, out};
  for (size_t i = 2; i < x.size(); ++i) {
    b.in(0)[i] = b.out()[i] = {b.factor(x[i], whole)};
    b.in(1)[i] = {b.factor(w[i], summed)};
  }
}

// ---- attention

/// Factors of q[bthd], k[bshd], v[bshe]; query heads are groups that share a head of k and v.
struct HeadDims {
  DimFactors q, k, v, means, scores;
};
HeadDims heads(Builder& b, DimRelation of_queries, DimRelation of_keys, DimRelation of_width,
               DimRelation of_value_width) {
  const Shape &q = b.shape(0), &k = b.shape(1), &v = b.shape(2);
  const int batch = b.factor(q[0]), head = b.factor(k[2]), group = b.factor(*q[2].divide(k[2]), of_queries),
            query = b.factor(q[1], of_queries), key = b.factor(k[1], of_keys),
            width = b.factor(q[3], of_width), value_width = b.factor(v[3], of_value_width);
  return {{{batch}, {query}, {head, group}, {width}},
          {{batch}, {key}, {head}, {width}},
          {{batch}, {key}, {head}, {value_width}},
          {{batch}, {query}, {head, group}, {value_width}},
          {{batch}, {head, group}, {query}, {key}}};
}

void attention(Builder& b) {
  const HeadDims dims = heads(b, carried, reduced, reduced, carried);
  b.in(0) = dims.q, b.in(1) = dims.k, b.in(2) = dims.v;
  for (unsigned i = 3; i < own_operands(b.node).size(); ++i) b.in(i) = DimFactors(llvm::drop_end(dims.k));
  b.out(0) = dims.means, b.out(1) = DimFactors(llvm::drop_end(dims.scores));
  if (b.made.results.size() > 2) b.out(2) = dims.means;
  b.made.handed = {dims.scores};
}

/// The gradients of k and v are sums over queries, that of q one over keys.
void attention_grad(Builder& b) {
  const HeadDims dims = heads(b, summed, summed, whole, whole);
  b.in(0) = b.out(0) = dims.q, b.in(1) = b.out(1) = dims.k, b.in(2) = b.out(2) = dims.v;
  b.in(3) = dims.means;
  b.made.handed = {dims.scores, dims.scores};
}

struct Row {
  Op op;
  void (*relate)(Builder&);
};
/// In the order of ops.def.
constexpr Row kRows[] = {
    {Op::parameter, counted_elements},
    {Op::state, counted_elements},
    {Op::input, counted_elements},
    {Op::constant, constant},
    {Op::iota, iota},
    {Op::random, counted_elements},
    {Op::pointwise, elementwise},
    {Op::convert, elementwise},
    {Op::reduce, reduce},
    {Op::broadcast, broadcast},
    {Op::reshape, reshape},
    {Op::transpose, transpose},
    {Op::slice, placed_parts},
    {Op::windows, windows},
    {Op::concat, placed_parts},
    {Op::pack, pack},
    {Op::gather, gather},
    {Op::scatter_add, scatter_add},
    {Op::scatter, scatter},
    {Op::scan, scan},
    {Op::top_k, whole_rows},
    {Op::sample, row_results},
    {Op::dequantize, rows_of_groups},
    {Op::matmul, matmul},
    {Op::insert, insert},
    {Op::update, update},
    {Op::stop_gradient, elementwise},
    {Op::collective, collective},
    {Op::fusion, body},
    {Op::linear, linear},
    {Op::einsum, einsum},
    {Op::strided_slice, placed_parts},
    {Op::pad, placed_parts},
    {Op::conv, conv},
    {Op::sort, whole_rows},
    {Op::softmax, whole_rows},
    {Op::log_softmax, whole_rows},
    {Op::layer_norm, norm},
    {Op::rms_norm, norm},
    {Op::gelu, elementwise},
    {Op::gelu_tanh, elementwise},
    {Op::silu, elementwise},
    {Op::with_slopes, elementwise},
    {Op::dropout, counted_elements},
    {Op::embedding, embedding},
    {Op::attention, attention},
    {Op::attention_grad, attention_grad},
    {Op::cotangent, counted_elements},
    {Op::custom_vjp, custom_vjp},
    {Op::cross_entropy, row_results},
};

constexpr bool has_all_operations() {
  constexpr Op kOps[] = {
#define SMELT_OP(name, ...) Op::name,
#include "ir/ops/ops.def"
  };
  return std::ranges::equal(kRows, kOps, {}, &Row::op);
}
static_assert(has_all_operations(),
              "an operation of ops.def has no row in kRows, or rows are in another order");

}  // namespace
}  // namespace dim_rules

OpDims op_dims(const Node& node) {
  dim_rules::Builder builder(node);
  dim_rules::kRows[static_cast<size_t>(node.op())].relate(builder);
  return builder.finish();
}

}  // namespace smelt
