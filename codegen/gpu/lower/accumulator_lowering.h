// Partial sums of `accumulate` instructions, which a thread block keeps while it loops over rows. The
// instruction's access and Schedule::vectors determine whether a sum is kept in one register per thread, in
// one register per column of a thread, or in memory. At the end the block adds up the registers of its
// threads and stores the sums in its slice of each partial parameter (KernelParam::partial).
#pragma once

#include <vector>

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt::gpu {

class AccumulatorLowering {
 public:
  AccumulatorLowering(LoweringContext& context, const AddressLowering& addresses)
      : c_(context), addresses_(addresses) {}

  /// Appends, before the loop over rows, the declarations of the registers, and code that sets the sums in
  /// memory to zero.
  void declare();
  /// Appends, after the loop, code that adds up the registers of the block's threads and stores the sums.
  void finish();

 private:
  void zero_memory();
  void zero_slice(int param);
  bool is_in_memory(int id) const;
  bool is_in_column_registers(int id) const;
  bool has_sums_in_memory(int param) const;
  bool is_written_whole(int param) const;
  bool adds_again(int id) const;
  void write(int id, const Expr& target, const Expr& value);
  void finish_scalar(int id);
  void add_in_warps(const Expr& sum, int lanes);
  void add_warps(int id, int warps);
  void finish_columns(const std::vector<int>& ids);
  Expr open_own_columns();
  void close_own_columns();
  Expr register_of(int id) const;
  void write_column(int id, const Expr& column, const Expr& value);
  void write_own_columns(int id);
  void add_side_by_side(llvm::ArrayRef<int> ids);
  void place_side_by_side(llvm::ArrayRef<int> ids, int64_t columns);
  void add_places(int id, size_t place, const Expr& column, int64_t columns);
  void add_sequentially(int id);
  Expr open_columns_of_block();

  LoweringContext& c_;
  const AddressLowering& addresses_;
};

}  // namespace smelt::gpu
