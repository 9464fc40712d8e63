// Loads that are issued before the block of the kernel (KernelBlock in ir/kernel/kernel.h) that uses them.
// They have one of two forms (Form in the same file). Loads of the form `prefetched` are for the next rows of
// a grid-stride loop, and go to shared memory. No barrier is needed, because each thread reads only data that
// it has loaded itself. Loads of the form `early` are for later blocks of the current row, and go to
// registers.
#pragma once

#include <map>

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"

namespace smelt::gpu {

class PrefetchLowering {
 public:
  PrefetchLowering(LoweringContext& context, const AddressLowering& addresses);

  /// Called before the loop over rows. Appends prefetches of the first Schedule::prefetch_distance rows,
  /// which are the rows `first`, first + step, first + 2 * step and so on.
  void lower_first_rows(const Expr& first, int64_t step);
  /// Called at the beginning of the loop's body. Appends the prefetch of one more row, and a wait for the
  /// data of the current row.
  void lower_next_row(const Expr& row, int64_t step);
  /// Called before the blocks of a row. Appends the loads of the form `early`.
  void lower_early_loads();

  /// Return the thread's vector number k that load number `id` has loaded. k is a variable of the code. The
  /// load has the form `prefetched` for the first function, and `early` for the second.
  Expr prefetched_vector(int id) const;
  Expr early_vector(int id) const;

 private:
  void lower_row(const Expr& row, const Expr& stage);
  void open_columns();
  void close_columns();
  Expr place(int id, const Expr& stage) const;

  LoweringContext& c_;
  const AddressLowering& addresses_;
  /// For each prefetched load: the offset, in bytes, of its vectors in a stage. A stage is the shared memory
  /// for the prefetched data of one row of each thread group.
  std::map<int, int64_t> offsets_;
  int64_t stage_bytes_ = 0;
};

}  // namespace smelt::gpu
