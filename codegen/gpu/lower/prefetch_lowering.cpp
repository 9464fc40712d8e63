#include "codegen/gpu/lower/prefetch_lowering.h"

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt::gpu {

PrefetchLowering::PrefetchLowering(LoweringContext& context, const AddressLowering& addresses)
    : c_(context), addresses_(addresses) {
  for (const KernelBlock& block : c_.kernel.blocks)
    for (int id : block.instructions)
      if (c_.instruction(id).form == Form::prefetched && offsets_.try_emplace(id, stage_bytes_).second)
        stage_bytes_ += vector_bytes(c_.kernel, id) * c_.vectors * c_.schedule.threads;
}

// ---- the rows of a grid-stride loop

void PrefetchLowering::lower_first_rows(const Expr& first, int64_t step) {
  if (offsets_.empty()) return;
  const int distance = c_.schedule.prefetch_distance;
  c_.shared.prefetched = stage_bytes_ * (distance + 1) / 4;
  c_.shared.need_floats(c_.shared.prefetched);
  const Type bytes = Type(Scalar::byte).pointer_to();
  c_.out.declare(bytes, "prefetched", cast(c_.shared_floats(), bytes));
  for (int row = 0; row < distance; ++row) lower_row(row == 0 ? first : first + row * step, row);
  c_.out.declare_changing(Scalar::int32, "stage", distance);
}

void PrefetchLowering::lower_next_row(const Expr& row, int64_t step) {
  if (offsets_.empty()) return;
  const int distance = c_.schedule.prefetch_distance;
  const Expr stage = variable("stage", Scalar::int32);
  const Expr next = c_.out.declare(Scalar::int32, "next_stage", stage);
  c_.out.set(stage, choice(stage == distance, 0, stage + 1));
  lower_row(row + distance * step, next);
  c_.out.call("sm_await_prefetches", {}, {distance});
}

/// Opens the loop over a thread's vectors of a row, and the condition that the vector exists.
void PrefetchLowering::open_columns() {
  const Expr k = c_.out.open_unrolled("k", c_.vectors);
  c_.out.declare(Scalar::index, "c", c_.column_of_vector(k));
  if (const Expr exists = c_.column_exists()) c_.out.open_if(exists);
}

void PrefetchLowering::close_columns() {
  if (c_.column_exists()) c_.out.close();
  c_.out.close();
}

void PrefetchLowering::lower_row(const Expr& row, const Expr& stage) {
  c_.out.open_scope();
  const Expr next_row = c_.out.declare(Scalar::index, "next_row", row);
  c_.out.open_if(next_row < variable("end", Scalar::index));
  c_.declare_indices(next_row, c_.shape.parallel);
  open_columns();
  for (const auto& [id, offset] : offsets_)
    c_.out.call("sm_prefetch", {place(id, stage), addresses_.vector_without_start(id)},
                {vector_bytes(c_.kernel, id)});
  close_columns();
  c_.out.close();
  c_.out.call("sm_commit_prefetches", {});
  c_.out.close();
}

/// Vectors of neighbouring threads lie side by side.
Expr PrefetchLowering::place(int id, const Expr& stage) const {
  const Expr vector =
      variable("k", Scalar::int32) * c_.schedule.threads + cast(thread_number(), Scalar::int32);
  return variable("prefetched", Type(Scalar::byte).pointer_to()) +
         (stage * stage_bytes_ + offsets_.at(id) + vector * vector_bytes(c_.kernel, id));
}

Expr PrefetchLowering::prefetched_vector(int id) const {
  return cast(place(id, variable("stage", Scalar::int32)),
              Type::stored(c_.param(id).dtype).pointer_to_const());
}

// ---- the current row

void PrefetchLowering::lower_early_loads() {
  std::vector<int> early;
  for (int id : c_.shape.all_of(Instruction::Kind::load))
    if (c_.instruction(id).form == Form::early) early.push_back(id);
  if (early.empty()) return;
  for (int id : early)
    c_.out.declare_array(Type::stored(c_.param(id).dtype), fmt::format("early{}", id), {c_.vectors, c_.width},
                         false, 16);
  open_columns();
  for (int id : early) c_.out.call("sm_load_early", {early_vector(id), addresses_.vector_without_start(id)});
  close_columns();
}

Expr PrefetchLowering::early_vector(int id) const {
  return element(variable_of("early", id, Type::stored(c_.param(id).dtype).array(2)),
                 variable("k", Scalar::int32));
}

}  // namespace smelt::gpu
