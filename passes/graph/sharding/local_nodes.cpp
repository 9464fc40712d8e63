#include "passes/graph/sharding/local_nodes.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "runtime/base/error.h"

namespace smelt {

LocalSizes::LocalSizes(const Mesh& mesh, const SymbolCuts& cuts) : mesh_(mesh) {
  for (const auto& [symbol, axes] : cuts)
    factors_.emplace(symbol, Dim::symbol(symbol) * parts_of(mesh, axes));
}

Dim LocalSizes::part(const Dim& dim, const std::vector<size_t>& axes) const {
  const int64_t parts = parts_of(mesh_, axes);
  if (const auto quotient = whole(dim).divide(parts)) return *quotient;
  fail("partition: {} ranks do not divide {}", parts, dim.str());
}

Shape LocalSizes::part(const Shape& shape, const Sharding& sharding) const {
  Shape local;
  for (size_t i = 0; i < shape.size(); ++i) local.push_back(part(shape[i], sharding.dims[i]));
  return local;
}

void LocalSizes::rewrite_attributes(Node& node) const {
  for (auto& [name, attribute] : node.attributes)
    if (auto* dim = std::get_if<Dim>(&attribute)) *dim = whole(*dim);
  if (!node.body) return;
  for (const auto& inner : node.body->nodes()) {
    for (const auto& result : inner->results())
      for (Dim& dim : result->type.shape) dim = whole(dim);
    rewrite_attributes(*inner);
  }
}

namespace {

using Axes = std::vector<size_t>;
using Kind = Factor::Kind;

bool is_of_batch(const LocalNode& l, const Axes& axes) {
  return l.node.phase != Phase::update &&
         llvm::all_of(axes, [&](size_t axis) { return llvm::is_contained(l.batch_axes, axis); });
}

/// Says of a draw of this part what it is a part of.
void place_draw(const LocalNode& l, const Shape& whole, const Sharding& cut, Node& draw) {
  Axes batch;
  for (size_t i = 0; i < cut.dims.size(); ++i) {
    const Axes& axes = cut.dims[i];
    if (axes.empty()) continue;
    if (is_of_batch(l, axes)) {
      batch.insert(batch.end(), axes.begin(), axes.end());
      continue;
    }
    draw.attributes.set(draw_extent(i), l.sizes.whole(whole[i]));
    draw.attributes.set(draw_begin(i), l.resharder.place(axes) * draw.result()->shape()[i]);
  }
  if (batch.empty()) return;
  draw.set(attr::parts, parts_of(l.b.module().mesh(), batch));
  draw.set(attr::part, l.resharder.place(batch));
}

void cut_body(const LocalNode& l, const Graph& whole, Graph& body) {
  auto part = body.nodes().begin();
  for (const auto& inner : whole.nodes()) {
    Node& copy = **part++;
    for (unsigned i = 0; i < inner->result_count(); ++i)
      copy.result(i)->type.shape =
          l.sizes.part(inner->result(i)->shape(), l.assignment.inside(*inner->result(i)));
    if (inner->is(Op::random))
      place_draw(l, inner->result()->shape(), l.assignment.inside(*inner->result()), copy);
  }
}

/// The node itself, on parts.
Node* copy_of(const LocalNode& l) {
  Node* copy = l.b.graph().clone(l.node, l.operands);
  l.sizes.rewrite_attributes(*copy);
  if (l.node.body) cut_body(l, *l.node.body, *copy->body);
  for (unsigned i = 0; i < copy->result_count(); ++i) {
    copy->result(i)->sharding.reset();
    copy->result(i)->type.shape = l.sizes.part(l.node.result(i)->shape(), l.assignment.result(i));
  }
  return copy;
}

std::vector<Value*> results_of(const Node& node) {
  std::vector<Value*> results;
  for (const auto& result : node.results()) results.push_back(result.get());
  return results;
}

/// The axes of the first factor of this kind that is cut, and its size.
struct CutFactor {
  Axes axes;
  Dim size;
};
std::optional<CutFactor> cut_factor(const LocalNode& l, Kind kind) {
  for (size_t f = 0; f < l.assignment.axes.size(); ++f)
    if (l.assignment.factors->factors[f].kind == kind && !l.assignment.axes[f].empty())
      return CutFactor{l.assignment.axes[f], l.assignment.factors->factors[f].size};
  return std::nullopt;
}

/// Returns the begin of the rank's part of a cut dim, broadcast to a shape.
Value* begin_of(const LocalNode& l, const CutFactor& cut, const Type& like) {
  const Dim length = l.sizes.part(cut.size, cut.axes);
  const auto number = length.constant();
  Value* begin = l.resharder.place_value(cut.axes, number.value_or(1));
  if (!number) begin = l.b.mul(begin, l.b.extent(length, DType::i32));
  return l.b.broadcast(l.b.convert(begin, like.dtype), {}, like.shape);
}

// ---- tables

/// Indices that are not of the rank's rows look up the nearest one, and what they find counts as 0.
std::vector<Value*> look_up(const LocalNode& l, const CutFactor& cut, int64_t axis) {
  GraphBuilder& b = l.b;
  Value *table = l.operands[0], *indices = l.operands[1];
  Value* local = b.sub(indices, begin_of(l, cut, indices->type));
  Value* rows = b.broadcast(b.extent(table->shape()[static_cast<size_t>(axis)], indices->dtype()), {},
                            indices->shape());
  Value* inside = b.logical_and(b.ge(local, b.like(local, 0)), b.lt(local, rows));
  Value* last = b.sub(rows, b.like(rows, 1));
  Value* found = b.gather(table, b.min(b.max(local, b.like(local, 0)), last), axis);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < indices->rank(); ++i) axes.push_back(axis + i);
  return {b.select(b.broadcast(inside, axes, found->shape()), found, b.like(found, 0))};
}

std::vector<Value*> gather(const LocalNode& l) {
  const auto cut = cut_factor(l, Kind::looked_up);
  if (!cut) return results_of(*copy_of(l));
  return look_up(l, *cut, l.node.is(Op::embedding) ? 0 : l.node.get(attr::axis));
}

/// Indices that are not of the rank's rows are outside, and so left out on purpose.
std::vector<Value*> scatter(const LocalNode& l) {
  const auto cut = cut_factor(l, Kind::looked_up);
  if (!cut) return results_of(*copy_of(l));
  Value* local = l.b.sub(l.operands[1], begin_of(l, *cut, l.operands[1]->type));
  Attributes attributes = l.node.attributes;
  attributes.set(attr::leaves_out, true);
  return {l.b.create(l.node.op(), {l.operands[0], local, l.operands[2]}, std::move(attributes))->result()};
}

// ---- places

std::vector<Value*> iota(const LocalNode& l) {
  Value* own = copy_of(l)->result();
  const auto cut = cut_factor(l, Kind::placed);
  return {cut ? l.b.add(own, begin_of(l, *cut, own->type)) : own};
}

/// The rank's part of a table that every rank has.
std::vector<Value*> constant(const LocalNode& l) {
  Node* copy = copy_of(l);
  if (!l.node.has(attr::values)) return {copy->result()};
  copy->result()->type = l.node.result()->type;
  return {l.resharder.move(copy->result(), replicated(copy->result()->rank()), l.assignment.result(0), "")};
}

/// Builds the draw of this rank: along axes of the batch that of a separate micro-step, otherwise the rank's
/// part of the whole draw.
std::vector<Value*> random(const LocalNode& l) {
  Node* draw = copy_of(l);
  place_draw(l, l.node.result()->shape(), l.assignment.result(0), *draw);
  return results_of(*draw);
}

// ---- reductions

/// The largest of all, and sums of exponentials that are taken from it.
std::vector<Value*> join_exponentials(const LocalNode& l, const Node& own, const Axes& axes,
                                      const std::string& why) {
  GraphBuilder& b = l.b;
  Value *largest = own.result(0), *sum = own.result(1);
  Value* all = l.resharder.all_reduce(largest, axes, "max", why);
  // Equal ones, infinite ones too, need no factor.
  Value* scaled = b.mul(sum, b.exp(b.sub(largest, all)));
  Value* addend = b.select(b.eq(largest, all), sum, scaled);
  return {all, l.resharder.all_reduce(addend, axes, "add", why)};
}

std::vector<Value*> reduce(const LocalNode& l) {
  Node* own = copy_of(l);
  Axes axes;
  for (size_t f = 0; f < l.assignment.axes.size(); ++f)
    if (l.assignment.factors->factors[f].kind == Kind::joined)
      axes.insert(axes.end(), l.assignment.axes[f].begin(), l.assignment.axes[f].end());
  if (axes.empty()) return results_of(*own);
  const std::string why = l.node.describe();
  if (own->is(ReduceOp::max_sumexp)) return join_exponentials(l, *own, axes, why);
  if (own->is(ReduceOp::max)) return {l.resharder.all_reduce(own->result(), axes, "max", why)};
  return {l.b.neg(l.resharder.all_reduce(l.b.neg(own->result()), axes, "max", why))};
}

struct LocalRow {
  Op op;
  std::vector<Value*> (*build)(const LocalNode&);
};
constexpr LocalRow kLocalRows[] = {
    {Op::gather, gather}, {Op::embedding, gather},  {Op::scatter_add, scatter}, {Op::scatter, scatter},
    {Op::iota, iota},     {Op::constant, constant}, {Op::random, random},       {Op::reduce, reduce},
};

}  // namespace

std::vector<Value*> build_local(const LocalNode& local) {
  for (const LocalRow& row : kLocalRows)
    if (local.node.is(row.op)) return row.build(local);
  return results_of(*copy_of(local));
}

}  // namespace smelt
