#include "passes/graph/sharding/op_factors.h"

#include <algorithm>
#include <map>

#include "ir/analysis/reshape_factors.h"
#include "ir/graph/body.h"
#include "ir/graph/insertion.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/body_factors.h"

namespace smelt {

int OpFactors::leading(const std::vector<int>& dim) const {
  for (const int factor : dim)
    if (!factors[static_cast<size_t>(factor)].size.is_one()) return factor;
  return -1;
}

bool OpFactors::can_cut(int factor, int64_t parts) const {
  const Factor& f = factors[static_cast<size_t>(factor)];
  if (f.kind == Factor::Kind::whole || !smelt::can_cut(f.size, parts)) return false;
  const auto fits = [&](const std::vector<int>& dim) {
    return !llvm::is_contained(dim, factor) || leading(dim) == factor;
  };
  const auto all = [&](const DimFactors& dims) { return llvm::all_of(dims, fits); };
  return llvm::all_of(operands, all) && llvm::all_of(results, all) &&
         llvm::all_of(inside, [&](const auto& value) { return all(value.second); });
}

namespace {

using Kind = Factor::Kind;

class Builder {
 public:
  explicit Builder(const Node& node) : node(node) {
    for (const Value* operand : node.operands()) made.operands.emplace_back(operand->shape().size());
    for (const auto& result : node.results()) made.results.emplace_back(result->shape().size());
  }

  int factor(const Dim& size, Kind kind = Kind::carried) {
    made.factors.push_back({kind, size});
    return static_cast<int>(made.factors.size()) - 1;
  }
  DimFactors& in(unsigned operand) { return made.operands[operand]; }
  DimFactors& out(unsigned result = 0) { return made.results[result]; }
  const Shape& shape(unsigned operand) const { return node.operand(operand)->shape(); }

  /// Joins the factors that a body relates; dims without a factor are whole.
  OpFactors finish() {
    if (node.body) add_body(node, handed, made);
    for (unsigned i = 0; i < made.operands.size(); ++i) complete(in(i), shape(i));
    for (unsigned i = 0; i < made.results.size(); ++i) complete(out(i), node.result(i)->shape());
    return std::move(made);
  }

  const Node& node;
  OpFactors made;
  std::vector<DimFactors> handed;  // of the values that the op hands to its body

 private:
  void complete(DimFactors& dims, const Shape& shape) {
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].empty()) dims[i] = {factor(shape[i], Kind::whole)};
  }
};

/// A factor a dim, the same in all operands and results of the shape.
void elementwise(Builder& b) {
  const Shape& shape = b.node.result()->shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    const int f = b.factor(shape[i]);
    for (DimFactors& dims : b.made.operands) dims[i] = {f};
    for (DimFactors& dims : b.made.results) dims[i] = {f};
  }
}

/// The leading dims, but for the last `whole`, of all operands and results that have them.
void rows(Builder& b, size_t whole) {
  const Shape& shape = b.shape(0);
  for (size_t i = 0; i + whole < shape.size(); ++i) {
    const int f = b.factor(shape[i]);
    b.in(0)[i] = {f};
    for (DimFactors& dims : b.made.results)
      if (i < dims.size()) dims[i] = {f};
  }
}

void rows_before_last(Builder& b) { rows(b, 1); }

/// The rows of operands 1 and on are those of operand 0.
void rows_of_all(Builder& b) {
  rows(b, 1);
  for (unsigned i = 1; i < b.made.operands.size(); ++i)
    for (size_t d = 0; d < b.in(i).size() && d + 1 < b.in(0).size(); ++d)
      if (b.shape(i)[d] == b.shape(0)[d]) b.in(i)[d] = b.in(0)[d];
}

void along_axis(Builder& b) {
  elementwise(b);
  b.made.factors[static_cast<size_t>(b.node.get(attr::axis))].kind = Kind::whole;
}

void leaf(Builder& b, Kind kind) {
  const Shape& shape = b.node.result()->shape();
  for (size_t i = 0; i < shape.size(); ++i) b.out()[i] = {b.factor(shape[i], kind)};
}

void constant(Builder& b) { leaf(b, b.node.has(attr::values) ? Kind::placed : Kind::carried); }
void random(Builder& b) { leaf(b, Kind::placed); }

void iota(Builder& b) {
  leaf(b, Kind::carried);
  b.made.factors[static_cast<size_t>(b.node.get(attr::axis))].kind = Kind::placed;
}

Kind kind_of(ReduceOp op) {
  if (op == ReduceOp::add) return Kind::summed;
  const bool joins = op == ReduceOp::max || op == ReduceOp::min || op == ReduceOp::max_sumexp;
  return joins ? Kind::joined : Kind::whole;
}

void reduce(Builder& b) {
  const auto& axes = b.node.get(attr::axes);
  size_t kept = 0;
  for (size_t i = 0; i < b.shape(0).size(); ++i) {
    const bool goes = llvm::is_contained(axes, static_cast<int64_t>(i));
    b.in(0)[i] = {b.factor(b.shape(0)[i], goes ? kind_of(b.node.reduce_op) : Kind::carried)};
    if (goes) continue;
    for (DimFactors& dims : b.made.results) dims[kept] = b.in(0)[i];
    ++kept;
  }
}

void broadcast(Builder& b) {
  const auto& axes = b.node.get(attr::axes);
  leaf(b, Kind::carried);
  for (size_t i = 0; i < axes.size(); ++i) b.in(0)[i] = b.out()[static_cast<size_t>(axes[i])];
}

void transpose(Builder& b) {
  leaf(b, Kind::carried);
  const auto& permutation = b.node.get(attr::permutation);
  for (size_t i = 0; i < permutation.size(); ++i) b.in(0)[static_cast<size_t>(permutation[i])] = b.out()[i];
}

void reshape(Builder& b) {
  for (const ReshapeFactor& shared : reshape_factors(b.shape(0), b.node.result()->shape())) {
    const int f = b.factor(shared.size, shared.is_clear ? Kind::carried : Kind::whole);
    if (shared.from) b.in(0)[*shared.from].push_back(f);
    if (shared.to) b.out()[*shared.to].push_back(f);
  }
}

/// A sliced dim is not shardable.
void slice(Builder& b) {
  const auto axis = static_cast<size_t>(b.node.get(attr::axis));
  for (size_t i = 0; i < b.shape(0).size(); ++i)
    if (i != axis || b.shape(0)[i] == b.node.result()->shape()[i])
      b.in(0)[i] = b.out()[i] = {b.factor(b.shape(0)[i])};
}

/// The axis is not shardable, because neighbouring windows share elements.
void windows(Builder& b) {
  const auto axis = static_cast<size_t>(b.node.get(attr::axis));
  for (size_t i = 0; i < b.shape(0).size(); ++i)
    if (i != axis) b.in(0)[i] = b.out()[i < axis ? i : i + 1] = {b.factor(b.shape(0)[i])};
}

void concat(Builder& b) {
  for (size_t i = 0; i < b.shape(0).size(); ++i) {
    if (static_cast<int64_t>(i) == b.node.get(attr::axis)) continue;
    const int f = b.factor(b.shape(0)[i]);
    for (DimFactors& dims : b.made.operands) dims[i] = {f};
    b.out()[i] = {f};
  }
}

/// Dims of a table around the axis, and of the indices in its place: those of a gather's result.
void indexed(Builder& b, size_t axis, DimFactors& table, DimFactors& indices, DimFactors& rows,
             Kind of_rows) {
  const size_t inserted = indices.size();
  table[axis] = {b.factor(b.shape(0)[axis], Kind::looked_up)};
  for (size_t i = 0; i < table.size(); ++i) {
    if (i == axis) continue;
    table[i] = {b.factor(b.shape(0)[i])};
    rows[i < axis ? i : i + inserted - 1] = table[i];
  }
  for (size_t i = 0; i < inserted; ++i) rows[axis + i] = indices[i] = {b.factor(b.shape(1)[i], of_rows)};
}

void gather(Builder& b) {
  indexed(b, static_cast<size_t>(b.node.get(attr::axis)), b.in(0), b.in(1), b.out(), Kind::carried);
}

void embedding(Builder& b) { indexed(b, 0, b.in(0), b.in(1), b.out(), Kind::carried); }

void scatter_add(Builder& b) {
  indexed(b, static_cast<size_t>(b.node.get(attr::axis)), b.in(0), b.in(1), b.in(2), Kind::summed);
  b.out() = b.in(0);
}

/// Which update of a row is the last one only who has all of them knows.
void scatter(Builder& b) {
  indexed(b, static_cast<size_t>(b.node.get(attr::axis)), b.in(0), b.in(1), b.in(2), Kind::whole);
  b.out() = b.in(0);
}

void matmul(Builder& b) {
  const MatmulSpec spec = parse_matmul_spec(b.node.get(attr::spec));
  std::map<char, int> letters;
  const auto use = [&](const std::string& text, const Shape& shape, DimFactors& dims) {
    for (size_t i = 0; i < text.size(); ++i) {
      // A body needs the sum.
      const bool goes = spec.out.find(text[i]) == std::string::npos;
      const Kind kind = !goes ? Kind::carried : b.node.body ? Kind::whole : Kind::summed;
      if (!letters.contains(text[i])) letters[text[i]] = b.factor(shape[i], kind);
      dims[i] = {letters[text[i]]};
    }
  };
  use(spec.a, b.shape(0), b.in(0));
  use(spec.b, b.shape(1), b.in(1));
  if (b.node.body)
    b.handed.emplace_back(spec.out.size()), use(spec.out, handed_values(b.node)[0]->shape(), b.handed[0]);
  else
    use(spec.out, b.node.result()->shape(), b.out());
}

/// Batch, heads and queries; ranks that cut heads have whole groups of those that share a head of k and v.
void attention(Builder& b) {
  const bool grad = b.node.is(Op::attention_grad);
  const Shape &q = b.shape(0), &k = b.shape(1), &v = b.shape(2);
  const Kind sum = grad ? Kind::summed : Kind::carried;  // in the gradients of k and v
  const int batch = b.factor(q[0]), head = b.factor(k[2]), group = b.factor(*q[2].divide(k[2]), sum),
            query = b.factor(q[1], sum), key = b.factor(k[1], Kind::whole),
            width = b.factor(q[3], Kind::whole), value_width = b.factor(v[3], Kind::whole);
  const std::vector<int> heads = {head, group};
  const DimFactors of_q = {{batch}, {query}, heads, {width}}, of_y = {{batch}, {query}, heads, {value_width}},
                   of_k = {{batch}, {key}, {head}, {width}}, of_v = {{batch}, {key}, {head}, {value_width}};
  b.in(0) = of_q, b.in(1) = of_k, b.in(2) = of_v;
  b.handed.assign(grad ? 2 : 1, {{batch}, heads, {query}, {key}});
  if (grad) {
    b.in(3) = of_y;
    b.out(0) = of_q, b.out(1) = of_k, b.out(2) = of_v;
  } else {
    b.out(0) = of_y, b.out(1) = {{batch}, heads, {query}};
    if (b.made.results.size() > 2) b.out(2) = of_y;
  }
}

void linear(Builder& b) {
  rows(b, 1);
  const int out = b.factor(b.shape(1)[0]), in = b.factor(b.shape(1)[1], Kind::summed);
  // With a bias an addend of the product is no addend of the result.
  if (b.made.operands.size() == 3) b.made.factors[static_cast<size_t>(in)].kind = Kind::whole;
  b.in(0).back() = {in}, b.in(1) = {{out}, {in}}, b.out().back() = {out};
  if (b.made.operands.size() == 3) b.in(2) = {{out}};
}

/// Dims that no index moves, and that indices do not have.
void insert(Builder& b) {
  size_t leading = 0;
  for (unsigned i = 2; i < b.made.operands.size(); ++i) leading = std::max(leading, b.shape(i).size());
  for (size_t i = leading; i < b.shape(0).size(); ++i) {
    const bool moves = llvm::any_of(indexed_axes(b.node), [&](const IndexedAxis& indexed) {
      return indexed.axis == static_cast<int64_t>(i);
    });
    if (moves || b.shape(0)[i] != b.shape(1)[i]) continue;
    b.in(0)[i] = b.in(1)[i] = b.out()[i] = {b.factor(b.shape(0)[i])};
  }
}

struct FactorRow {
  Op op;
  void (*describe)(Builder&);
};
constexpr FactorRow kFactorRows[] = {
    {Op::pointwise, elementwise},
    {Op::convert, elementwise},
    {Op::stop_gradient, elementwise},
    {Op::constant, constant},
    {Op::iota, iota},
    {Op::random, random},
    {Op::reduce, reduce},
    {Op::broadcast, broadcast},
    {Op::reshape, reshape},
    {Op::transpose, transpose},
    {Op::slice, slice},
    {Op::windows, windows},
    {Op::concat, concat},
    {Op::gather, gather},
    {Op::scatter_add, scatter_add},
    {Op::scatter, scatter},
    {Op::scan, along_axis},
    {Op::top_k, rows_before_last},
    {Op::sample, rows_of_all},
    {Op::insert, insert},
    {Op::matmul, matmul},
    {Op::linear, linear},
    {Op::softmax, rows_before_last},
    {Op::log_softmax, rows_before_last},
    {Op::layer_norm, rows_before_last},
    {Op::rms_norm, rows_before_last},
    {Op::gelu, elementwise},
    {Op::gelu_tanh, elementwise},
    {Op::silu, elementwise},
    {Op::with_slopes, elementwise},
    {Op::embedding, embedding},
    {Op::cross_entropy, rows_of_all},
    {Op::attention, attention},
    {Op::attention_grad, attention},
};

}  // namespace

OpFactors factors_of(const Node& node) {
  Builder builder(node);
  for (const FactorRow& row : kFactorRows)
    if (node.is(row.op)) row.describe(builder);
  return builder.finish();
}

}  // namespace smelt
