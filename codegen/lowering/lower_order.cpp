// scan and top_k as steps of their own: lines of elements some distance apart, in a place and out of a place.
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

/// Of the operand, or of a dense copy where it lies in another way.
Lines source_lines(ProgramBuilder& builder, const Node& node, int64_t axis) {
  const Value& x = *node.operand(0);
  if (const auto lines = lines_of(*x.layout, x.shape(), axis)) return *lines;
  return *lines_of(dense_copy(builder, x, node.source), x.shape(), axis);
}

/// Of a result, which is dense.
Lines result_lines(const Value& result, int64_t axis) {
  return *lines_of(*result.layout, result.shape(), axis);
}

}  // namespace

void lower_scan(ProgramBuilder& builder, const Node& scan) {
  const int64_t axis = scan.int_attr("axis");
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
                            .kind = scan.string_attr("kind"),
                            .exclusive = scan.bool_attr("exclusive", false),
                            .dtype = result.dtype()},
                   {from.base.buffer}, {to.base.buffer});
}

void lower_top_k(ProgramBuilder& builder, const Node& top_k) {
  const Value& x = *top_k.operand(0);
  const int64_t axis = x.rank() - 1;
  Lines from = source_lines(builder, top_k, axis);
  // Rows whose elements do not lie together are copied, too.
  if (!from.stride.is_one() && !x.shape()[axis].is_one())
    from = *lines_of(dense_copy(builder, x, top_k.source), x.shape(), axis);
  const Layout &values = *top_k.result(0)->layout, &indices = *top_k.result(1)->layout;
  builder.add_step(TopKStep{.x = from.base,
                            .values = {values.buffer, values.offset},
                            .indices = {indices.buffer, indices.offset},
                            .rows = product(x.shape(), 0, axis),
                            .count = x.shape()[axis],
                            .row_stride = from.outer_stride,
                            .k = top_k.int_attr("k")},
                   {from.base.buffer}, {values.buffer, indices.buffer});
}

}  // namespace smelt
