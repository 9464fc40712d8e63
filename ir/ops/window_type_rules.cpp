// The type rules of windows, and of what is decomposed into them.
#include "ir/ops/type_rules.h"
#include "ir/ops/windows.h"

namespace smelt::rules {
namespace {

/// The count, where it is not certainly below 1.
Dim need_windows(const Context& c, const Dim& elements, const Windows& windows) {
  Dim count = window_count(elements, windows);
  if (count.constant() && *count.constant() < 1)
    fail("{}: no window of {} elements, {} apart, fits into the {} along axis {}", name(c.op), windows.size,
         windows.dilation, elements.str(), windows.axis);
  return count;
}

}  // namespace

Types infer_windows(const Context& c) {
  Type type = c.type(0);
  const int64_t axis = c.get(attr::axis);
  const Windows windows{axis, c.get(attr::size), c.get(attr::step), c.get(attr::dilation)};
  type.shape[axis] = need_windows(c, type.shape[axis], windows);
  type.shape.insert(type.shape.begin() + axis + 1, Dim(windows.size));
  return {type};
}

Types infer_strided_slice(const Context& c) {
  const Type& x = c.type(0);
  const int64_t axis = c.get(attr::axis);
  const Dim begin = c.get(attr::begin);
  const int64_t step = c.get(attr::step);
  Shape shape = x.shape;
  if (c.result().rank() == x.rank()) shape[axis] = c.result().shape[axis];
  if (shape != c.result().shape) fail("strided_slice: {} of {} along axis {}", str(c.result()), str(x), axis);
  const Dim last = begin + (shape[axis] - 1) * step, left = x.shape[axis] - 1 - last;
  if ((left.constant() && *left.constant() < 0) || (begin.constant() && *begin.constant() < 0))
    fail("strided_slice: {} elements from {} on, every {}th, are not all inside dim {} of {}",
         shape[axis].str(), begin.str(), step, axis, str(x));
  return {{x.dtype, shape}};
}

Types infer_pad(const Context& c) {
  Type type = c.type(0);
  const int64_t axis = c.get(attr::axis);
  for (const auto& side : {attr::low, attr::high}) {
    const Dim length = c.get(side);
    if (length.constant() && *length.constant() < 0)
      fail("pad: attribute '{}' is {}, expected at least 0; take a slice to crop", side.text, length.str());
    type.shape[axis] += length;
  }
  return {type};
}

Types infer_conv(const Context& c) {
  const Shape &x = c.type(0).shape, &w = c.type(1).shape;
  if (x.size() < 3 || x.size() != w.size())
    fail("conv: x is {}, w is {}, expected [batch,channels,...] and [out,channels/groups,...] of one rank",
         str(c.type(0)), str(c.type(1)));
  need_float(c, 0), need_dtype(c, 1, c.type(0).dtype);
  const int64_t groups = conv_groups(c.attributes);
  if (x[1] != w[1] * groups || !w[0].divide(groups))
    fail("conv: x is {}, w is {}; with {} groups x has {} channels, and {} divides those of the result",
         str(c.type(0)), str(c.type(1)), groups, (w[1] * groups).str(), groups);
  Shape shape = {x[0], w[0]};
  for (const ConvDim& dim : conv_dims(w, c.attributes)) {
    const auto axis = static_cast<size_t>(dim.windows.axis);
    shape.push_back(need_windows(c, x[axis] + dim.low + dim.high, dim.windows));
  }
  if (c.operands.size() == 3) need_shape(c, 2, {w[0]}), need_dtype(c, 2, c.type(0).dtype);
  return {{c.type(0).dtype, shape}};
}

}  // namespace smelt::rules
