#include "ir/analysis/view.h"

#include "ir/analysis/op_dims.h"
#include "ir/ops/windows.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {

std::vector<Dim> dense_strides(const Shape& shape) {
  return dense_strides(shape, shape.empty() ? Dim(1) : shape.back());
}

std::vector<Dim> dense_strides(const Shape& shape, const Dim& last_pitch) {
  std::vector<Dim> strides(shape.size());
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = i + 1 == shape.size() ? last_pitch : stride * shape[i];
  }
  return strides;
}

bool is_dense(const Shape& shape, const std::vector<Dim>& strides) {
  Dim expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i].is_one()) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool is_same_place(const Layout& a, const Layout& b, const Shape& shape) {
  bool same = a.buffer == b.buffer && a.offset == b.offset;
  for (size_t i = 0; same && i < shape.size(); ++i) same = shape[i].is_one() || a.strides[i] == b.strides[i];
  return same;
}

Dim reach(const Layout& layout, const Shape& shape) {
  Dim elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) elements += (shape[i] - 1) * layout.strides[i];
  return elements;
}

namespace {

/// A run of dims of `from` and of `to` with equally many elements.
struct Run {
  size_t from_begin, from_end, to_begin, to_end;
};

/// Cuts both shapes into the shortest runs of equal size; nothing where the sizes cannot be compared.
std::optional<std::vector<Run>> matching_runs(const Shape& from, const Shape& to) {
  std::vector<Run> runs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const Run start{i, i, j, j};
    Dim a = i < from.size() ? from[i++] : Dim(1), b = j < to.size() ? to[j++] : Dim(1);
    while (a != b) {
      if (i < from.size() && b.divide(a) && !(j < to.size() && a.divide(b)))
        a *= from[i++];
      else if (j < to.size() && a.divide(b))
        b *= to[j++];
      else if (i < from.size())
        a *= from[i++];
      else
        return std::nullopt;
    }
    runs.push_back({start.from_begin, i, start.to_begin, j});
  }
  return runs;
}

}  // namespace

std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to) {
  const auto runs = matching_runs(from, to);
  if (!runs) return std::nullopt;
  std::vector<Dim> result(to.size(), Dim(1));
  for (const Run& run : *runs) {
    std::optional<Dim> inner;  // stride of the run's last dim that is larger than one
    Dim expected;
    for (size_t i = run.from_end; i-- > run.from_begin;) {
      if (from[i].is_one()) continue;
      if (inner && strides[i] != expected) return std::nullopt;
      if (!inner) inner = strides[i];
      expected = strides[i] * from[i];
    }
    Dim stride = inner.value_or(Dim(1));
    for (size_t j = run.to_end; j-- > run.to_begin;) {
      result[j] = stride;
      stride *= to[j];
    }
  }
  return result;
}

namespace {

/// Strides of the dims `to`, which have the factors of `from`; 0 for a dim that repeats elements.
std::vector<Dim> strides_along(const DimFactors& from, llvm::ArrayRef<Dim> strides, const DimFactors& to) {
  std::vector<Dim> result;
  for (const auto& dim : to) {
    const auto* same = llvm::find(from, dim);
    result.push_back(same == from.end() ? Dim(0) : strides[same - from.begin()]);
  }
  return result;
}

/// The layout of `to` if it has the elements of `from`, of this layout, in row-major order.
std::optional<Layout> reshaped(Layout layout, const Value& from, const Value& to) {
  auto strides = reshape_strides(from.shape(), layout.strides, to.shape());
  if (!strides) return std::nullopt;
  layout.strides = std::move(*strides);
  return layout;
}

}  // namespace

std::optional<Layout> view_layout(const Node& view, const Layout& operand) {
  if (view.is(Op::reshape)) return reshaped(operand, *view.operand(0), *view.result());
  const OpDims dims = op_dims(view);
  Layout layout{operand.buffer, operand.offset,
                strides_along(dims.operands[0], operand.strides, dims.results[0])};
  if (view.is(Op::slice)) layout.offset += view.get(attr::begin) * operand.strides[view.get(attr::axis)];
  if (view.is(Op::windows)) {
    const Windows windows = windows_of(view);
    layout.strides[windows.axis] *= windows.step, layout.strides[windows.axis + 1] *= windows.dilation;
  }
  return layout;
}

std::optional<Layout> operand_layout(const Node& view, const Layout& result) {
  if (view.is(Op::reshape)) return reshaped(result, *view.result(), *view.operand(0));
  if (!view.is(Op::transpose) && !view.is(Op::stop_gradient)) return std::nullopt;
  const OpDims dims = op_dims(view);
  return Layout{result.buffer, result.offset,
                strides_along(dims.results[0], result.strides, dims.operands[0])};
}

}  // namespace smelt
