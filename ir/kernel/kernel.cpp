#include "ir/kernel/kernel.h"

#include <algorithm>

#include "ir/kernel/reduction_code.h"

namespace smelt {

bool has_form(const Instruction& i, Form form) {
  using Kind = Instruction::Kind;
  switch (form) {
    case Form::plain:
      return true;
    case Form::fast:
      return (i.kind == Kind::scalar && !info(i.scalar_op).cuda_fast.empty()) ||
             (i.kind == Kind::reduce && is_expensive(i.reduce_op));
    case Form::fast_tangent:
      return i.kind == Kind::scalar && !info(i.scalar_op).cuda_slope.empty();
    case Form::inverse:
    case Form::scaled_inverse:
      return i.kind == Kind::scalar && i.scalar_op == ScalarOp::div;
    case Form::kept:
      return i.kind == Kind::scalar && i.scalar_op == ScalarOp::exp;
    case Form::early:
    case Form::prefetched:
      return i.kind == Kind::load;
    case Form::sequential:
      return i.kind == Kind::accumulate;
  }
  return false;
}

Dim AttentionKernel::blocks() const {
  if (const BlockTiles* own = blocked()) return item_count(*this, *own);
  const bool of_keys = part == AttentionPart::key_gradients;
  if (const WgmmaTiles* own = wgmma())
    return of_keys ? batch * key_heads * ceil_div(keys, own->keys)
                   : batch * heads * ceil_div(queries, own->queries);
  if (const FewTiles* own = few())
    return batch * key_heads * ceil_div(queries * group(), own->rows) * int64_t{own->blocks_of_rows()};
  const auto& mma = std::get<AttentionTiles>(tiles);
  if (of_keys) return batch * key_heads * ceil_div(keys, mma.rows()) * mma.parts;
  if (part != AttentionPart::element_gradient) return batch * heads * ceil_div(queries, mma.rows());
  const Dim kept = (keeps_batch ? batch : Dim(1)) * (keeps_heads ? heads : Dim(1));
  return kept * ceil_div(queries, mma.rows()) * ceil_div(keys, mma.columns);
}

Dim GemmKernel::products() const {
  Dim products = 1;
  for (const Batch& axis : batch) products *= axis.extent;
  return products;
}

Dim GemmKernel::blocks() const {
  if (mma) return products() * ceil_div(m, mma->rows) * ceil_div(n, mma->columns);
  if (is_small_m()) return ceil_div(n, few->weights);
  if (few) {
    const int64_t columns = int64_t{few->weights / few->parts} * few->together;
    return ceil_div(m, few->rows) * ceil_div(*n.constant() / few->parts, columns) * int64_t{few->together} *
           int64_t{few->splits};
  }
  return ceil_div(m, int64_t{GemmTiles::kRows} * tiles.cluster) * ceil_div(n, tiles.columns) * tiles.cluster;
}

Dim Kernel::range() const {
  if (attention) return attention->blocks();
  if (gemm) return gemm->blocks();
  Dim range = 1;
  std::vector<const KernelAxis*> columns;
  bool reduced = false;
  for (const KernelAxis& axis : axes) {
    if (axis.kind == AxisKind::parallel) range *= axis.extent;
    if (axis.kind == AxisKind::column) columns.push_back(&axis);
    reduced |= axis.kind == AxisKind::reduced;
  }
  if (schedule.flat) return columns.empty() ? range : columns.back()->extent;
  if (!reduced || columns.empty()) return range;
  for (size_t i = 0; i + 1 < columns.size(); ++i) range *= columns[i]->extent;
  return range * ceil_div(columns.back()->extent, schedule.tile);
}

namespace {

bool same_axis(const KernelAxis& a, const KernelAxis& b) {
  return a.kind == b.kind && a.extent == b.extent && a.begin == b.begin && a.end == b.end;
}

bool same_param(const KernelParam& a, const KernelParam& b) {
  return a.dtype == b.dtype && a.output == b.output && a.input == b.input && a.partial == b.partial &&
         a.partial_elements == b.partial_elements && a.table_elements == b.table_elements &&
         a.indices == b.indices && a.alignment == b.alignment;
}

bool same_codes(const std::vector<Kernel>& a, const std::vector<Kernel>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Kernel& one, const Kernel& other) { return one.same_code(other); });
}

}  // namespace

Dim Kernel::grid() const {
  Dim blocks = ceil_div(range(), schedule.grain);
  for (const Kernel& other : beside) blocks += other.grid();
  return blocks;
}

int Kernel::threads() const {
  int most = schedule.threads;
  for (const Kernel& other : beside) most = std::max(most, other.schedule.threads);
  return most;
}

size_t Kernel::arguments() const {
  size_t count = params.size() * static_cast<size_t>(copies);
  for (const Kernel& first : before) count += first.params.size() - 1;
  for (const Kernel& other : beside) count += other.params.size();
  for (const Kernel& last : tail) count += last.params.size();
  return attention ? count - static_cast<size_t>(attention->tile_params) : count;
}

bool Kernel::same_code(const Kernel& other) const {
  return std::equal(params.begin(), params.end(), other.params.begin(), other.params.end(), same_param) &&
         std::equal(axes.begin(), axes.end(), other.axes.begin(), other.axes.end(), same_axis) &&
         instructions == other.instructions && blocks == other.blocks &&
         row_predicate == other.row_predicate && schedule == other.schedule &&
         random_slots == other.random_slots && waits == other.waits && in_order == other.in_order &&
         copies == other.copies && attention == other.attention && gemm == other.gemm &&
         same_codes(before, other.before) && same_codes(beside, other.beside) && same_codes(tail, other.tail);
}

}  // namespace smelt
