// Passes over one kernel, by source file. kernel_passes.def lists the passes that are registered by name.
// ir/kernel/kernel.h describes kernels, their blocks, instructions and schedules.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

// ---- collapse_axes.cpp
// Merges neighbouring axes into one axis where this does not change the addresses of the kernel's accesses.
// The kernel then needs fewer divisions to compute its indices.

/// Merges two neighbouring axes if three conditions hold. Both are parallel, or both are reduced and have no
/// segments. In every access, the stride along the outer axis is the stride along the inner axis times the
/// inner extent. No instruction uses an index along either axis as a value.
void collapse_axes(Kernel& kernel);

// ---- column_sums.cpp
// Kernels that only sum over all rows. A block of a GPU then loops over all rows of a tile of columns, so
// there are no partial sums, and no second kernel that adds them up.

/// The destination of the sums of a partial parameter (KernelParam::partial, a buffer of partial sums): its
/// type, and its strides along the kernel's axes.
struct ColumnSum {
  int param = -1;
  DType dtype = DType::f32;
  std::vector<Dim> strides = {};
};

/// Rewrites a kernel that has parallel and column axes and one column block. The kernel must have no stores
/// and no reductions, and must accumulate only in the column block. Its parallel axes become reduced axes,
/// its accumulations become reductions, and its partial parameters become outputs for the sums, which are
/// rounded once. Returns true for such a kernel. Returns false for any other kernel, and changes nothing.
/// Requires: `sums` has an entry for each partial parameter.
bool sum_columns_in_tiles(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums);

// ---- conditional_sums.cpp
// Sums of select(p, x, 0), which is x where p is true, else 0. Only the x for which p is true need to be
// added.

/// Replaces `reduce add` of select(p, x, 0) by `reduce add` of x with the predicate p, if the select and the
/// reduction are in the same block.
void sum_where_chosen(Kernel& kernel);

// ---- early_loads.cpp
// Issues loads of later blocks early, for kernels that keep a row in registers. The blocks of such a kernel
// are separated by reductions. The loads of a later block do not depend on these reductions, so they can be
// issued before the loads of the first block.

/// Gives loads of later column blocks the form `early`, in order, until no registers are left for more.
/// Changes only kernels in which a thread issues all loads of its row before it waits for one. Skips
/// prefetched loads. If a thread block processes several rows, also skips loads of data that all rows read,
/// because these data are in the cache.
void issue_loads_early(Kernel& kernel);

// ---- exchange_rounds.cpp
// Rounds of exchange: the threads of a block exchange sums through shared memory, which may be too small for
// all sums at once.

/// Sets the rounds of exchange (Instruction::exchange_round) of reductions over reduced axes, and of
/// accumulations along columns that are kept in registers. Each round has as many sums as fit in shared
/// memory. If a single reduction does not fit with all columns of a vector, its rounds have fewer columns. An
/// accumulation needs one row of sums per thread group ("team"). If these rows do not fit, the accumulation
/// gets the form `sequential`: the teams then add to a single row, one after the other.
void exchange_in_rounds(Kernel& kernel);

/// Returns how many partial results of a reduced block are exchanged through shared memory: one per team, or
/// one per warp if teams are smaller than a warp, because the teams of a warp exchange by shuffles first.
int exchanging_groups(const Schedule& schedule);

// ---- fast_forms.cpp
// Fast approximations of functions such as exp, for results that are rounded to bf16 or f16. The error of
// this rounding is larger than the error of the approximation.

/// Chooses fast forms in a kernel with a bf16 or f16 parameter. A function that has a fast approximation gets
/// the form `fast` if all its results are rounded to 16 bits before they are stored. If the approximation is
/// inaccurate near 0, the function gets the form `fast_tangent` instead, unless its results are only added to
/// 1. Every max_sumexp of the kernel gets the form `fast`.
void choose_fast_forms(Kernel& kernel);

// ---- inverse_divisions.cpp
// Divisions of all elements of a row by the same number. They become multiplications by the inverse of this
// number, which is computed once per row.

/// Changes f32 divisions in kernels without reduced axes. The dividend has one value per column, and the
/// divisor is a scalar of the row. A division gets the form `inverse` if the divisor is the sum of
/// exponentials of a softmax; this sum is at least 1, so its inverse cannot overflow. Any other division gets
/// the form `scaled_inverse`.
void divide_by_inverses(Kernel& kernel);

// ---- keep_columns.cpp
// Keeps values of columns that one block computes and a later block would otherwise compute again. A GPU
// keeps them in the registers of the threads that share a row, a CPU in an array as long as a row.

struct KeepColumnsOptions {
  /// True: keeps only values that take many instructions, or that read random bits. False: also keeps loaded
  /// values, and values that are computed from several others. A value that a simple operation computes from
  /// one kept value, from indices or from row scalars is never kept.
  bool expensive_only = false;
  /// If a block loads what an earlier block has stored, keeps the stored value instead of loading it.
  bool forward_stores = true;
};

/// Writes the numbers of the kept instructions to schedule.cached, and drops instructions that have become
/// unused. Returns false, and changes nothing, if there is no value to keep. Returns false also for a kernel
/// that is flat, has reduced axes, or does not have exactly one column axis.
bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options = {});

// ---- keep_exponentials.cpp
// Keeps exponentials of a softmax, which needs exp(x - m) twice. The reduction max_sumexp computes the
// maximum m and the sum of exp(x - m); the result contains exp(x - m) again. So the reduction stores exp(x -
// n), where n is the maximum of the elements so far. A later block multiplies the stored numbers by exp(n -
// m).

/// Gives exp(x - m) in a later block the form `kept` if m is the maximum of a max_sumexp of the same x. Only
/// the first `most_reductions` of such reductions keep exponentials. Does nothing if the kernel has reduced
/// axes, or does not have exactly one column axis. Returns whether an instruction got the form.
bool keep_exponentials(Kernel& kernel, int64_t most_reductions);

/// Calls keep_exponentials for a GPU kernel whose threads keep a row in registers. `most_reductions` is the
/// number of reductions whose exponentials fit in the registers that the values in Schedule::cached leave
/// free.
void keep_exponentials_in_registers(Kernel& kernel);

/// Returns the number of the max_sumexp whose stored numbers replace `exponential`, an instruction of the
/// form `kept`.
int reduction_of_kept(const Kernel& kernel, int exponential);

// ---- legalize.cpp
// Makes all decisions that depend on a GPU kernel's schedule, and stores them in the kernel, so that the CUDA
// printers make none.

/// Runs the GPU passes of kernel_passes.def on a kernel that has a schedule, on its horizontally fused
/// kernels and on its last-block epilogue (Kernel::tail). First removes the results of an earlier call:
/// forms, exchange rounds, barriers and orders of loads. Keeps other changes: the predicates of
/// conditional_sums, the operands of unrounded_stores, the comparisons of ordered_comparisons, and all
/// changes of keep_columns.
void legalize_for_gpu(Kernel& kernel);

// ---- loads_first.cpp
// Issues the loads of several indices of a reduced axis before the arithmetic of the first index, because
// otherwise the CUDA compiler has only few loads in flight.

/// Sets KernelBlock::loads_first of a reduced block if the schedule unrolls loops and the innermost loop of
/// the block has no memory accesses other than loads of vectors.
void put_loads_first(Kernel& kernel);

// ---- ordered_comparisons.cpp
// Comparisons with a constant that are true for every number, but false for NaN: |x| >= 0, exp(x) > -1.

/// Replaces such a comparison by x == x. Without this, ptxas (CUDA 13.0) may replace the comparison by true,
/// which is wrong for NaN.
void order_comparisons(Kernel& kernel);

// ---- prefetch_rows.cpp
// Prefetches rows in a grid-stride loop. Without prefetching, a block would wait for every row, because
// reductions separate its loads and its stores. So the block issues the loads of the next rows before it
// processes the current row.

/// Gives loads, in the kernel's order, the form `prefetched`. Skips a load if shared memory has no space left
/// for its rows. Changes only kernels that have a grid-stride loop over rows and a prefetch distance
/// (Schedule::prefetch_distance).
void prefetch_rows(Kernel& kernel);

/// Returns whether a load can be issued before its block. It must be a load of whole, aligned vectors,
/// without a predicate and without a computed index, and its parameter must not be an output.
bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns whether can_be_early is true for the load and each row loads different elements.
bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns the bytes of one vector of an access.
int64_t vector_bytes(const Kernel& kernel, int id);

// ---- row_barriers.cpp
// Barriers in rows that are overwritten in place. Without a barrier, one thread could overwrite a value that
// other threads of the row have not read yet.

/// Changes only kernels without reduced axes. Sets KernelBlock::after_barrier of a block that stores columns
/// if the same or an earlier block has a load that reads one element for all columns, from memory of the
/// stored type. Only types are compared, because two parameters of one type may be the same memory. No
/// barrier is inserted if there is a reduction between the load and the block, because the reduction contains
/// one.
void insert_row_barriers(Kernel& kernel);

// ---- unrounded_stores.cpp
// Removes roundings before stores. A store rounds its operand to the type in memory, so an instruction that
// rounds the operand to this type first is not needed.

/// If the operand of a store is a conversion to the type in memory, and the conversion rounds to nearest, the
/// store gets the conversion's operand instead. Stores in blocks that cannot read the conversion's operand
/// are left unchanged.
void store_unrounded(Kernel& kernel);

// ---- exact_differences.cpp
// Differences that must not be contracted with a product to a fused multiply-add.

/// Returns whether an instruction subtracts a loaded or reduced value of the row from a product, or the
/// product from the value. An example is p * scale - m, where m is the row's maximum of the rounded products
/// p * scale. A fused multiply-add would subtract m from the unrounded product, so the result for the largest
/// element could differ from 0.
bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id);

// ---- kinds of registered passes
// Kinds of the passes in kernel_passes.def.

/// `alone`: the pass runs only where a pass pipeline names it. `gpu`: the pass depends on a GPU kernel's
/// schedule, and legalize_for_gpu runs it.
enum class KernelPassKind : uint8_t { alone, gpu };

}  // namespace smelt
