// Operations that move elements and compute nothing, insert, and update.
#include <algorithm>

#include "ir/evaluate/evaluate_ops.h"
#include "ir/graph/insertion.h"
#include "ir/ops/windows.h"
#include "runtime/base/error.h"

namespace smelt::evaluation {
namespace {

/// result[i] = from[list[i]]
template <typename S>
Arrays<S> pick(const Call<S>& call, const std::vector<int64_t>& list) {
  Array<S> result{call.shape(), std::vector<S>(list.size())};
  const S* from = call.operand(0).data.data();
  for (size_t i = 0; i < list.size(); ++i) result.data[i] = from[list[i]];
  return {std::move(result)};
}

int64_t dim_at(const Node& node, AttributeName<Dim> attribute, const EvaluateOptions& options) {
  return node.get(attribute).evaluate(options.symbols);
}

/// The row of a table that index i names.
template <typename S>
int64_t index_at(const Array<S>& indices, size_t i) {
  return static_cast<int64_t>(math::primal(indices.data[i]));
}

void check_index(const Node& node, int64_t index, int64_t size) {
  if (index < 0 || index >= size) fail("{}: index {} is outside [0, {})", node.describe(), index, size);
}

}  // namespace

template <typename S>
Arrays<S> evaluate_same(const Call<S>& call) {
  return {Array<S>{call.shape(), call.operand(0).data}};
}

/// Forward mode stops here too: no tangent passes.
template <typename S>
Arrays<S> evaluate_stop_gradient(const Call<S>& call) {
  Array<S> result = call.operand(0);
  if constexpr (std::is_same_v<S, Dual<double>>)
    for (S& x : result.data) x = S(math::primal(x));
  return {std::move(result)};
}

template <typename S>
Arrays<S> evaluate_broadcast(const Call<S>& call) {
  const Sizes own = row_major_strides(call.operand(0).shape);
  const std::vector<int64_t>& axes = call.node.get(attr::axes);
  Sizes strides(call.shape().size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) strides[axes[i]] = own[i];
  return pick(call, offsets(call.shape(), strides));
}

template <typename S>
Arrays<S> evaluate_transpose(const Call<S>& call) {
  const Sizes own = row_major_strides(call.operand(0).shape);
  Sizes strides;
  for (int64_t axis : call.node.get(attr::permutation)) strides.push_back(own[axis]);
  return pick(call, offsets(call.shape(), strides));
}

template <typename S>
Arrays<S> evaluate_slice(const Call<S>& call) {
  const Sizes& shape = call.operand(0).shape;
  const int64_t axis = call.node.get(attr::axis), begin = dim_at(call.node, attr::begin, call.options);
  const int64_t length = call.shape()[axis];
  if (begin < 0 || begin + length > shape[axis])
    fail("{}: [{}, {}) is outside a dim of {}", call.node.describe(), begin, begin + length, shape[axis]);
  const Sizes strides = row_major_strides(shape);
  return pick(call, offsets(call.shape(), strides, begin * strides[axis]));
}

template <typename S>
Arrays<S> evaluate_windows(const Call<S>& call) {
  const Sizes& shape = call.operand(0).shape;
  const Windows windows = windows_of(call.node);
  const int64_t count = call.shape()[windows.axis];
  if (count < 0) fail("{}: {} windows in a dim of {}", call.node.describe(), count, shape[windows.axis]);
  Sizes strides = row_major_strides(shape);
  const int64_t stride = strides[windows.axis];
  strides[windows.axis] = stride * windows.step;
  strides.insert(strides.begin() + windows.axis + 1, stride * windows.dilation);
  return pick(call, offsets(call.shape(), strides));
}

template <typename S>
Arrays<S> evaluate_concat(const Call<S>& call) {
  Array<S> result = call.zeros();
  const AxisView whole(call.shape(), call.node.get(attr::axis));
  auto to = result.data.begin();
  for (int64_t outer = 0; outer < whole.outer; ++outer)
    for (const Array<S>* operand : call.operands) {
      const auto block = static_cast<int64_t>(operand->data.size()) / whole.outer;
      to = std::copy_n(operand->data.begin() + outer * block, block, to);
    }
  return {std::move(result)};
}

template <typename S>
Arrays<S> evaluate_pack(const Call<S>& call) {
  const std::string& name = call.node.get(attr::state);
  const State* state = call.node.graph().module().find_state(name);
  if (!state) fail("{}: state \"{}\" is not declared", call.node.describe(), name);
  if (state->segments.size() != call.operands.size())
    fail("{}: {} operands for the {} segments of state \"{}\"", call.node.describe(), call.operands.size(),
         state->segments.size(), name);
  Array<S> result = call.zeros();
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Segment& segment = state->segments[i];
    const std::vector<S>& data = call.operand(i).data;
    if (static_cast<int64_t>(data.size()) != segment.elements() || segment.offset < 0 ||
        segment.offset + segment.elements() > static_cast<int64_t>(result.data.size()))
      fail("{}: operand {} has {} elements, segment \"{}\" of state \"{}\" has {} at {}",
           call.node.describe(), i, data.size(), segment.name, name, segment.elements(), segment.offset);
    std::copy(data.begin(), data.end(), result.data.begin() + segment.offset);
  }
  return {std::move(result)};
}

namespace {

template <typename S>
bool is_undecided(const S& index) {
  if constexpr (std::is_same_v<S, Bounded>) return index.error > 0;
  return false;
}

/// An index that float32 may compute otherwise decides what the elements are that it reaches.
template <typename S>
void make_wild(S* elements, int64_t count) {
  if constexpr (std::is_same_v<S, Bounded>)
    for (int64_t i = 0; i < count; ++i) elements[i].error = bounding::kWild;
}

/// Writes by undecided indices may have reached any element.
template <typename S>
Array<S> written_by(const Call<S>& call, size_t first_index, size_t last_index, Array<S> result) {
  for (size_t i = first_index; i < last_index; ++i)
    if (std::ranges::any_of(call.operand(i).data, is_undecided<S>))
      make_wild(result.data.data(), static_cast<int64_t>(result.data.size()));
  return result;
}

}  // namespace

template <typename S>
Arrays<S> evaluate_gather(const Call<S>& call) {
  const Array<S>&table = call.operand(0), &indices = call.operand(1);
  const AxisView view(table.shape, call.node.get(attr::axis));
  Array<S> result = call.zeros();
  auto to = result.data.begin();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (size_t i = 0; i < indices.data.size(); ++i) {
      const int64_t row = index_at(indices, i);
      check_index(call.node, row, view.size);
      const auto end =
          std::copy_n(table.data.begin() + (outer * view.size + row) * view.inner, view.inner, to);
      if (is_undecided(indices.data[i]))
        make_wild(result.data.data() + (to - result.data.begin()), view.inner);
      to = end;
    }
  return {std::move(result)};
}

/// Indices outside the table are left out, as sort_index does.
template <typename S>
Arrays<S> evaluate_scatter_add(const Call<S>& call) {
  Array<S> result = call.operand(0);
  const Array<S>&indices = call.operand(1), &updates = call.operand(2);
  const AxisView view(result.shape, call.node.get(attr::axis));
  const S* from = updates.data.data();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (size_t i = 0; i < indices.data.size(); ++i, from += view.inner) {
      const int64_t row = index_at(indices, i);
      if (row < 0 || row >= view.size) continue;
      S* to = result.data.data() + (outer * view.size + row) * view.inner;
      for (int64_t j = 0; j < view.inner; ++j) to[j] += from[j];
    }
  return {written_by(call, 1, 2, stored(call, std::move(result)))};
}

/// The last update of a row stays. Indices outside the table are left out, as sort_index does.
template <typename S>
Arrays<S> evaluate_scatter(const Call<S>& call) {
  Array<S> result = call.operand(0);
  const Array<S>&indices = call.operand(1), &updates = call.operand(2);
  const AxisView view(result.shape, call.node.get(attr::axis));
  auto from = updates.data.begin();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (size_t i = 0; i < indices.data.size(); ++i, from += view.inner) {
      const int64_t row = index_at(indices, i);
      if (row < 0 || row >= view.size) continue;
      std::copy_n(from, view.inner, result.data.begin() + (outer * view.size + row) * view.inner);
    }
  return {written_by(call, 1, 2, stored(call, std::move(result)))};
}

namespace {

/// Adds to every element's place how far an index moves it; elements that it leaves out are noted. An index
/// of rank r belongs to the value's leading r dims.
template <typename S>
void add_shift(const Call<S>& call, const Array<S>& index, const IndexedAxis& along, const Array<S>& target,
               std::vector<int64_t>& places, std::vector<bool>& left_out) {
  const int64_t length = call.operand(call.node.is(Op::insert) ? 1 : 0).shape[along.axis];
  const int64_t count = target.shape[along.axis] - (along.is_place ? 0 : length - 1);
  const int64_t stride = row_major_strides(target.shape)[along.axis];
  const size_t block = places.size() / index.data.size();
  for (size_t i = 0; i < index.data.size(); ++i) {
    const int64_t at = index_at(index, i);
    if (at >= 0) check_index(call.node, at, count);
    for (size_t j = i * block; j < (i + 1) * block; ++j) {
      places[j] += at * stride;
      if (at < 0) left_out[j] = true;
    }
  }
}

/// Inserts operand `first` at the positions given by the following operands.
template <typename S>
void insert_at(const Call<S>& call, size_t first, Array<S>& target) {
  const Array<S>& value = call.operand(first);
  if (value.data.empty()) return;
  if (value.shape.size() != target.shape.size())
    fail("{}: a value of rank {} for one of rank {}", call.node.describe(), value.shape.size(),
         target.shape.size());
  const auto axes = indexed_axes(call.node);
  Sizes strides = row_major_strides(target.shape);
  for (const IndexedAxis& along : axes)
    if (along.is_place) strides[along.axis] = 0;
  std::vector<int64_t> places = offsets(value.shape, strides);
  std::vector<bool> left_out(places.size());
  for (size_t i = 0; i < axes.size(); ++i)
    add_shift(call, call.operand(first + 1 + i), axes[i], target, places, left_out);
  for (size_t i = 0; i < places.size(); ++i)
    if (!left_out[i]) target.data[places[i]] = value.data[i];
}

}  // namespace

template <typename S>
void apply_update(const Call<S>& call, Array<S>& state) {
  const Array<S>& value = call.operand(0);
  if (call.operands.size() == 1) {
    if (value.shape != state.shape && element_count(value.shape) != element_count(state.shape))
      fail("{}: the value has {} elements, state \"{}\" has {}", call.node.describe(), value.data.size(),
           call.node.get(attr::state), state.data.size());
    state.data = value.data;
    return;
  }
  insert_at(call, 0, state);
}

template <typename S>
Arrays<S> evaluate_insert(const Call<S>& call) {
  Array<S> result = call.operand(0);
  insert_at(call, 1, result);
  return {written_by(call, 2, call.operands.size(), std::move(result))};
}

template void apply_update(const Call<float>&, Array<float>&);
template void apply_update(const Call<double>&, Array<double>&);
template void apply_update(const Call<Dual<double>>&, Array<Dual<double>>&);

SMELT_EVALUATE_ALL(evaluate_same)
SMELT_EVALUATE_ALL(evaluate_stop_gradient)
SMELT_EVALUATE_ALL(evaluate_broadcast)
SMELT_EVALUATE_ALL(evaluate_transpose)
SMELT_EVALUATE_ALL(evaluate_slice)
SMELT_EVALUATE_ALL(evaluate_windows)
SMELT_EVALUATE_ALL(evaluate_concat)
SMELT_EVALUATE_ALL(evaluate_pack)
SMELT_EVALUATE_ALL(evaluate_gather)
SMELT_EVALUATE_ALL(evaluate_scatter_add)
SMELT_EVALUATE_ALL(evaluate_scatter)
SMELT_EVALUATE_ALL(evaluate_insert)

}  // namespace smelt::evaluation
