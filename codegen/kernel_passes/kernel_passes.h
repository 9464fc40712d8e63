// Passes over one kernel, by source file. kernel_passes.def lists the passes that are registered by name.
// ir/kernel/kernel.h describes kernels, their blocks, instructions and schedules.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

// ---- collapse_axes.cpp
// Merges neighbouring axes that every access traverses like one axis. The kernel then computes fewer indices,
// with fewer divisions.

/// Merges two neighbouring axes of one kind (parallel, or reduced without segments) if the outer stride of
/// each access is the inner stride times the inner extent, and no instruction uses an index along either
/// axis.
void collapse_axes(Kernel& kernel);

// ---- column_sums.cpp
// Kernels that only sum over all rows. A block of a GPU then loops over all rows of a tile of columns, so
// there are no partial sums, and no second kernel that adds them up.

/// The destination of the sums of a partial parameter: its type, and its strides along the kernel's axes.
struct ColumnSum {
  int param = -1;
  DType dtype = DType::f32;
  std::vector<Dim> strides = {};
};

/// Rewrites a kernel that has parallel and column axes, one column block, no stores and no reductions, and
/// accumulates only in the column block. Its parallel axes become reduced axes, its accumulations become
/// reductions, and its partial parameters become outputs for the sums, which are rounded once. Requires:
/// `sums` has an entry for each partial parameter. Returns false, and changes nothing, for other kernels.
bool sum_columns_in_tiles(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums);

// ---- conditional_sums.cpp
// Sums of select(p, x, 0). Such a sum is the sum of those x for which p holds; the zeros need not be added.

/// Rewrites each such `reduce add` whose select is in the same block as a `reduce add` of x with the
/// predicate p.
void sum_where_chosen(Kernel& kernel);

// ---- early_loads.cpp
// Issues loads of later blocks early. The blocks of a row that stays in registers are separated by
// reductions. Loads of a later block do not depend on these reductions, so they are issued before the loads
// of the first block.

/// Gives loads of later column blocks the form `early`, in order, while registers are available. Changes only
/// kernels in which a thread issues all loads of its row concurrently. Skips prefetched loads. If a thread
/// block processes several rows, also skips loads that all rows read, because these hit the cache.
void issue_loads_early(Kernel& kernel);

// ---- exchange_rounds.cpp
// Rounds of exchange: the threads of a block exchange sums through shared memory, which may be too small for
// all sums at once.

/// Sets the rounds of exchange (Instruction::exchange_round) of reductions over reduced axes, and of
/// accumulations along columns that are kept in registers. A round has as many of them as shared memory
/// holds. If it does not hold all columns of a vector of one reduction, a round has fewer columns. If it does
/// not hold one row per thread group ("team") of an accumulation, the accumulation gets the form
/// `sequential`.
void exchange_in_rounds(Kernel& kernel);

/// Returns the number of groups of threads that exchange their parts of a reduced block through shared
/// memory. A group is a team, or a warp if several teams share a warp, because these exchange by shuffles
/// first.
int exchanging_groups(const Schedule& schedule);

// ---- fast_forms.cpp
// Short forms of functions such as exp, for results that are rounded to bf16 or f16. The error of the
// rounding is larger than that of a short form.

/// Chooses fast forms in a kernel with a bf16 or f16 parameter. A function that has a short form, and whose
/// values reach memory only rounded to 16 bits, gets the form `fast`. If the short form loses digits near 0,
/// it gets `fast_tangent` instead, unless its values are only added to 1, which hides these digits. Sums of
/// exponentials get the form `fast` in each such kernel, because large exponentials, which dominate the sum,
/// keep their digits.
void choose_fast_forms(Kernel& kernel);

// ---- inverse_divisions.cpp
// Replaces the divisions of a row's elements by one number by multiplications with its inverse, which takes
// one division per row.

/// Gives f32 divisions of column values by row scalars, in row kernels, the form `inverse` if the divisor is
/// a sum of exponentials, else `scaled_inverse`. A sum of exponentials is at least 1, because the exponential
/// of the maximum is 1, so its inverse cannot overflow.
void divide_by_inverses(Kernel& kernel);

// ---- keep_columns.cpp
// Keeps column values that one block computes and a later block would compute again. A GPU keeps them in the
// registers of the threads that share a row, a CPU in an array as long as a row.

struct KeepColumnsOptions {
  /// True: keeps only values that take many instructions, or read random bits. False: also keeps loaded
  /// values, and values that combine several others, so that one register replaces several loads; a simple
  /// operation on one kept value is computed again. Values that are computed from indices and row scalars by
  /// simple operations are never kept.
  bool expensive_only = false;
  /// If a block loads what an earlier block has stored, keeps the stored value instead of loading it.
  bool forward_stores = true;
};

/// Fills schedule.cached and drops instructions that have become unused. Returns false, and changes nothing,
/// if the blocks have no such values in common, or if the kernel is flat, has reduced axes, or does not have
/// exactly one column axis.
bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options = {});

// ---- keep_exponentials.cpp
// Keeps exponentials of a softmax, which needs exp(x - m) twice: in the reduction max_sumexp, which computes
// the maximum m and the sum of exp(x - m), and in the result. The reduction keeps its exponentials, relative
// to the maximum so far, and those of the result are scaled from them.

/// Gives exp(x - m) of later blocks the form `kept` if m is the maximum of a max_sumexp of the same x. If
/// there are several such reductions, only the first `most_reductions` of them keep exponentials. Does
/// nothing if the kernel has reduced axes, or not exactly one column axis. Returns whether an instruction got
/// the form.
bool keep_exponentials(Kernel& kernel, int64_t most_reductions);

/// Does the same for a GPU whose threads hold a row in registers. The number of reductions is limited by the
/// registers that Schedule::cached leaves.
void keep_exponentials_in_registers(Kernel& kernel);

/// Returns the number of the max_sumexp that an exponential of the form `kept` is scaled from.
int reduction_of_kept(const Kernel& kernel, int exponential);

// ---- legalize.cpp
// Writes the consequences of a GPU schedule into the kernel: after these passes the CUDA printers make no
// decisions.

/// Runs the GPU passes of kernel_passes.def on a kernel that has a schedule, on its horizontally fused
/// kernels and on its tail. First removes what follows from an earlier schedule: forms, exchange rounds,
/// barriers and orders of loads. Keeps other changes: the predicates of conditional_sums, the operands of
/// unrounded_stores, the comparisons of ordered_comparisons, and all changes of keep_columns.
void legalize_for_gpu(Kernel& kernel);

// ---- loads_first.cpp
// Moves loads first in long sums. The CUDA compiler by itself keeps few loads of later indices in flight. So
// the loads of several reduced indices are printed before the arithmetic of the first index.

/// Sets KernelBlock::loads_first of reduced blocks if the schedule unrolls loops, and the only memory
/// accesses in the block's innermost loop are loads of vectors.
void put_loads_first(Kernel& kernel);

// ---- ordered_comparisons.cpp
// Comparisons with a constant that hold for every number, but not for NaN: |x| >= 0, exp(x) > -1.

/// Replaces such a comparison by x == x. Otherwise ptxas (CUDA 13.0) folds it to true if it can infer the
/// sign of x, which is wrong for a NaN.
void order_comparisons(Kernel& kernel);

// ---- prefetch_rows.cpp
// Prefetches rows in a grid-stride loop. Without prefetching, a block would wait for every row, because
// reductions separate its loads and its stores. So it issues the loads of the next rows before it works on
// the current row.

/// Gives the form `prefetched` to loads in a grid-stride loop with a prefetch distance, in order, while
/// shared memory has space for their rows.
void prefetch_rows(Kernel& kernel);

/// Returns whether a load can be issued before its block. It must be a load of whole, aligned vectors without
/// a predicate, and its parameter must not be an output.
bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns whether a load can be early, and rows load different data.
bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns the bytes of one vector of an access.
int64_t vector_bytes(const Kernel& kernel, int id);

// ---- row_barriers.cpp
// Barriers in rows that are overwritten in place. One thread of a row may overwrite a value that every thread
// of the row reads. The barrier ensures that all reads come before any write.

/// Sets KernelBlock::after_barrier of a column block of a row kernel if the block stores columns, and a load
/// of the same element type that is the same for all columns comes before. Parameters of one type may be the
/// same memory. No barrier is needed if a reduction is between the load and the block, because it has a
/// barrier.
void insert_row_barriers(Kernel& kernel);

// ---- unrounded_stores.cpp
// Removes roundings before stores. A store rounds to the type in memory, so its operand need not be rounded
// to that type before.

/// Replaces the operand of a store by the operand of a conversion, if the store's operand is a conversion to
/// the nearest number of the type in memory, and the conversion's operand is visible to the store.
void store_unrounded(Kernel& kernel);

// ---- exact_differences.cpp
// Differences that must not be contracted with a product to a fused multiply-add.

/// Returns whether an instruction subtracts a stored or reduced value of the row from a product, such as
/// scores q k * scale minus their maximum, or the reverse. The maximum is a rounded product. A fused
/// multiply-add would subtract it from an unrounded product, and the largest element would exceed the maximum
/// by up to half of its last digit, which at 1e10 is 512.
bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id);

// ---- kinds of registered passes
// Kinds of the passes in kernel_passes.def, which defines them.

enum class KernelPassKind : uint8_t { alone, gpu };

}  // namespace smelt
