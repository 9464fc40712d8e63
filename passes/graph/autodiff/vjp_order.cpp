// The derivatives of operations whose elements go by order or by index: scatter, insert, windows, scan, top_k
// and sort.
#include <algorithm>

#include "ir/analysis/integer_ranges.h"
#include "ir/ops/windows.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/vjp.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Axes [first, first + count).
std::vector<int64_t> neighbours(int64_t first, int64_t count) {
  std::vector<int64_t> axes = leading_axes(count);
  for (int64_t& axis : axes) axis += first;
  return axes;
}

/// Which updates a scatter leaves in its result: of each row the last one, found by scattering where they
/// stand.
Value* stays(const Reverse& r, int64_t axis) {
  Value* indices = r.x(1);
  Value* places = r.b.iota({DType::i32, {element_count(indices->shape())}}, 0);
  places = r.b.reshape(places, indices->shape());
  Value* none = r.b.constant(-1, {DType::i32, {r.x()->shape()[static_cast<size_t>(axis)]}});
  Value* last = r.b.scatter(none, indices, places);
  if (r.node.get(attr::leaves_out)) last->node()->set(attr::leaves_out, true);
  return r.b.eq(r.b.gather(last, indices), places);
}

}  // namespace

void reverse_scatter(const Reverse& r) {
  const int64_t axis = r.node.get(attr::axis);
  if (r.needs(0))
    r.add(0, r.b.create(Op::scatter, {r.g(), r.x(1), zeros(r.b, r.x(2)->type)}, r.node.attributes)->result());
  if (!r.needs(2)) return;
  Value* g = r.b.gather(r.g(), r.x(1), axis);
  if (!r.node.get(attr::unique)) {
    const auto axes = neighbours(axis, r.x(1)->rank());
    g = r.b.select(r.b.broadcast(stays(r, axis), axes, g->shape()), g, r.b.like(g, 0));
  }
  r.add(2, g);
}

Forward::Tangents forward_scatter(const Forward& f) {
  return {f.b.create(Op::scatter, {f.t_or_zero(0), f.x(1), f.t_or_zero(2)}, f.node.attributes)->result()};
}

namespace {

/// Returns whether there is a window at all sizes.
bool is_never_empty(const Value& windows, int64_t axis) {
  return is_never_zero(windows.shape()[static_cast<size_t>(axis)], windows.node()->graph().module().symbols);
}

/// Returns the windows' elements [from, from + count), one window after another, with zeros up to the next
/// one's, also after the last window if there may be no next one.
Value* side_by_side(GraphBuilder& b, Value* g, const Windows& w, int64_t from, int64_t count) {
  Value* part = b.slice(g, w.axis + 1, from, count);
  if (count < w.step) {
    Type gap = part->type;
    gap.shape[static_cast<size_t>(w.axis) + 1] = w.step - count;
    part = b.concat({part, zeros(b, gap)}, w.axis + 1);
  }
  const Dim& windows = g->shape()[static_cast<size_t>(w.axis)];
  Shape shape = part->shape();
  shape[static_cast<size_t>(w.axis)] = windows * w.step;
  shape.erase(shape.begin() + w.axis + 1);
  part = b.reshape(part, shape);
  if (count == w.step || !is_never_empty(*g, w.axis)) return part;
  return b.slice(part, w.axis, 0, (windows - 1) * w.step + count);
}

/// Returns `part` at `begin` of `elements` elements along the axis, with zeros elsewhere. Elements after the
/// end are cut off if the part may reach beyond it.
Value* placed(GraphBuilder& b, Value* part, int64_t axis, const Dim& begin, const Dim& elements, bool fits) {
  llvm::SmallVector<Value*, 3> pieces;
  const auto fill = [&](const Dim& length) {
    Type type = part->type;
    type.shape[static_cast<size_t>(axis)] = length;
    if (!length.is_zero()) pieces.push_back(zeros(b, type));
  };
  const Dim length = part->shape()[static_cast<size_t>(axis)];
  fill(begin);
  pieces.push_back(part);
  fill(fits ? elements - begin - length : elements);
  Value* whole = b.concat(pieces, axis);
  return fits ? whole : b.slice(whole, axis, 0, elements);
}

/// Splits windows into addends: groups of `step` elements of each window do not overlap and are one addend.
/// In dilated windows each element is one addend.
Value* sum_of_parts(GraphBuilder& b, Value* g, const Windows& w, const Dim& elements) {
  const int64_t apart = w.dilation == 1 ? w.step : 1;
  Value* sum = nullptr;
  for (int64_t from = 0; from < w.size; from += apart) {
    Value* part = side_by_side(b, g, w, from, std::min(apart, w.size - from));
    part = placed(b, part, w.axis, from * w.dilation, elements, is_never_empty(*g, w.axis));
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

int64_t least_factor(int64_t number) {
  for (int64_t factor = 2; factor * factor <= number; ++factor)
    if (number % factor == 0) return factor;
  return number;
}

/// Windows added up where they overlap. Those that move by one are windows of smaller windows: a size of 128
/// takes 7 sums of two addends, each of half as many elements as the one before, and not one of 128.
Value* overlapped(GraphBuilder& b, Value* g, const Windows& w, const Dim& elements) {
  const int64_t outer = least_factor(w.size), inner = w.size / outer;
  if (w.step > 1 || inner <= 1) return sum_of_parts(b, g, w, elements);
  Shape shape = g->shape();
  shape[static_cast<size_t>(w.axis) + 1] = inner;
  shape.insert(shape.begin() + w.axis + 1, Dim(outer));
  const Windows of_windows{w.axis, outer, 1, inner * w.dilation};
  Value* windows = sum_of_parts(b, b.reshape(g, shape), of_windows, elements - Dim(inner - 1) * w.dilation);
  return overlapped(b, windows, {w.axis, inner, 1, w.dilation}, elements);
}

}  // namespace

void reverse_windows(const Reverse& r) {
  const Windows w = windows_of(r.node);
  r.add(0, overlapped(r.b, r.g(), w, r.x()->shape()[static_cast<size_t>(w.axis)]));
}

namespace {

void refuse_products(const Node& scan) {
  if (scan.get(attr::kind) != "add")
    fail(
        "differentiate: the derivative of {} is not known for the kind \"{}\", only for \"add\"; put a "
        "stop_gradient behind it",
        scan.describe(), scan.get(attr::kind));
}

/// Returns x with the elements along the axis in reverse order.
Value* reversed(GraphBuilder& b, Value* x, int64_t axis) {
  const Shape places = {x->shape()[static_cast<size_t>(axis)]};
  Value* place = b.iota({DType::i32, places}, 0);
  Value* last = everywhere(b, b.reduce(ReduceOp::max, place, {0}), places);
  return b.gather(x, b.max(b.sub(last, place), everywhere(b, b.scalar(0, DType::i32), places)), axis);
}

}  // namespace

/// Computes suffix sums: prefix sums in reverse order. The sum of all elements less the prefix sums would
/// leave rounding errors where all further elements are 0.
void reverse_scan(const Reverse& r) {
  refuse_products(r.node);
  const int64_t axis = r.node.get(attr::axis);
  Value* sums = r.b.scan("add", reversed(r.b, r.g(), axis), axis, r.node.get(attr::exclusive));
  r.add(0, reversed(r.b, sums, axis));
}

Forward::Tangents forward_scan(const Forward& f) {
  refuse_products(f.node);
  return forward_linear(f);
}

/// Numbers along the last axis go back to where they were taken from; an index of -1 is of none.
void reverse_order(const Reverse& r) {
  const auto columns = [&](Shape shape) {
    shape.push_back(1);
    return shape;
  };
  Value* none = zeros(r.b, {r.g()->dtype(), columns(r.x()->shape())});
  Value* g = r.b.reshape(r.g(), columns(r.g()->shape()));
  r.add(0, r.b.reshape(r.b.insert(none, g, {r.node.result(1)}, {last_axis(r.x())}), r.x()->shape()));
}

/// The insert is linear in the value and in its target.
Forward::Tangents forward_insert(const Forward& f) {
  llvm::SmallVector<Value*, 5> operands = {f.t_or_zero(0), f.t_or_zero(1)};
  llvm::append_range(operands, f.node.operands().drop_front(2));
  return {f.b.create(Op::insert, operands, f.node.attributes)->result()};
}

/// The tangents of the elements that were taken; 0 for an index of -1.
Forward::Tangents forward_order(const Forward& f) {
  GraphBuilder& b = f.b;
  Value* indices = f.node.result(1);
  const Dim& columns = f.x()->shape().back();
  const Dim& taken = indices->shape().back();
  Dim rows = 1;
  for (const Dim& dim : llvm::ArrayRef(f.x()->shape()).drop_back()) rows *= dim;
  Value* index = b.reshape(indices, {rows, taken});
  Value* found = b.max(index, b.like(index, 0));
  Value* row = b.iota(index->type, 0);
  Value* place = b.add(b.mul(row, everywhere(b, b.extent(columns, DType::i32), row->shape())), found);
  Value* t = b.gather(b.reshape(f.t(), {rows * columns}), place);
  t = b.select(b.ge(index, b.like(index, 0)), t, b.like(t, 0));
  return {b.reshape(t, f.node.result()->shape()), nullptr};
}

}  // namespace smelt
