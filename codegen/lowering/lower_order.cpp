// scan, top_k, sample and dequantize as steps of their own: lines of elements some distance apart, in a place
// and out of a place.
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/view.h"

namespace smelt {
namespace {

/// Elements (o, i, j) of a value, i along one axis, at o * outer_stride + i * stride + j.
struct Lines {
  BufferRef base;
  Dim outer_stride, stride;
};

Dim product(const Shape& shape, int64_t begin, int64_t end) {
  Dim count = 1;
  for (int64_t i = begin; i < end; ++i) count *= shape[i];
  return count;
}

std::optional<Lines> lines_of(const Layout& layout, const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  const bool inner = axis + 1 == rank || (layout.strides[rank - 1].is_one() &&
                                          lies_evenly(shape, layout.strides, axis + 1, rank - axis - 1));
  if (!inner || !lies_evenly(shape, layout.strides, 0, axis)) return std::nullopt;
  return Lines{
      {layout.buffer, layout.offset}, axis > 0 ? layout.strides[axis - 1] : Dim(0), layout.strides[axis]};
}

/// Returns the lines of the operand, or of a dense copy if its layout has no lines.
Lines source_lines(ProgramBuilder& builder, const Node& node, int64_t axis) {
  const Value& x = *node.operand(0);
  if (const auto lines = lines_of(*x.layout, x.shape(), axis)) return *lines;
  return *lines_of(dense_copy(builder, x, node.source), x.shape(), axis);
}

/// Returns the rows of an operand, or of a dense copy if their elements are not contiguous.
Lines source_rows(ProgramBuilder& builder, const Node& node, unsigned operand) {
  const Value& x = *node.operand(operand);
  const int64_t axis = x.rank() - 1;
  const auto lines = lines_of(*x.layout, x.shape(), axis);
  if (lines && (lines->stride.is_one() || x.shape()[axis].is_one())) return *lines;
  return *lines_of(dense_copy(builder, x, node.source), x.shape(), axis);
}

BufferRef place_of(const Value& value) { return {value.layout->buffer, value.layout->offset}; }

/// Returns the lines of a result, which is dense.
Lines result_lines(const Value& result, int64_t axis) {
  return *lines_of(*result.layout, result.shape(), axis);
}

}  // namespace

void lower_scan(ProgramBuilder& builder, const Node& scan) {
  const int64_t axis = scan.get(attr::axis);
  const Value& result = *scan.result();
  const Shape& shape = result.shape();
  const Lines from = source_lines(builder, scan, axis), to = result_lines(result, axis);
  builder.add_step(ScanStep{.x = from.base,
                            .y = to.base,
                            .outer = product(shape, 0, axis),
                            .count = shape[axis],
                            .inner = product(shape, axis + 1, result.rank()),
                            .x_outer_stride = from.outer_stride,
                            .x_stride = from.stride,
                            .y_outer_stride = to.outer_stride,
                            .y_stride = to.stride,
                            .kind = scan.get(attr::kind),
                            .exclusive = scan.get(attr::exclusive),
                            .dtype = result.dtype()});
}

void lower_top_k(ProgramBuilder& builder, const Node& top_k) {
  const Value& x = *top_k.operand(0);
  const int64_t axis = x.rank() - 1;
  const Lines from = source_rows(builder, top_k, 0);
  builder.add_step(TopKStep{.x = from.base,
                            .values = place_of(*top_k.result(0)),
                            .indices = place_of(*top_k.result(1)),
                            .rows = product(x.shape(), 0, axis),
                            .count = x.shape()[axis],
                            .row_stride = from.outer_stride,
                            .k = top_k.get(attr::k)});
}

void lower_sample(ProgramBuilder& builder, const Node& sample) {
  const Shape& shape = sample.operand(0)->shape();
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  const Lines scores = source_rows(builder, sample, 0), numbers = source_rows(builder, sample, 1),
              integers = source_rows(builder, sample, 2);
  builder.add_step(SampleStep{.scores = scores.base,
                              .numbers = numbers.base,
                              .integers = integers.base,
                              .tokens = place_of(*sample.result(0)),
                              .log_probabilities = place_of(*sample.result(1)),
                              .rows = product(shape, 0, axis),
                              .count = shape[axis],
                              .row_stride = scores.outer_stride,
                              .numbers_stride = numbers.outer_stride,
                              .integers_stride = integers.outer_stride});
}

void lower_dequantize(ProgramBuilder& builder, const Node& node) {
  const Shape& shape = node.result()->shape();
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  const Lines codes = source_rows(builder, node, 0), scales = source_rows(builder, node, 1);
  DequantizeStep step;
  step.codes = codes.base, step.scales = scales.base, step.y = place_of(*node.result());
  if (node.operands().size() > 2) {
    const Lines zeros = source_rows(builder, node, 2);
    step.zeros = zeros.base, step.zeros_stride = zeros.outer_stride;
  }
  step.rows = product(shape, 0, axis), step.columns = shape[axis];
  step.groups = node.operand(1)->shape()[axis];
  step.codes_stride = codes.outer_stride, step.scales_stride = scales.outer_stride;
  step.format = node.get(attr::format), step.dtype = node.result()->dtype();
  builder.add_step(std::move(step));
}

}  // namespace smelt
