// Passes over one kernel (kernel_passes.def has those that are registered), by the source file that has each.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

// ---- collapse_axes.cpp
// Merges neighbouring axes that every access traverses like one axis: this leaves fewer indices, and fewer
// divisions.

/// Joins neighbouring axes of one kind (parallel, or reduced without segments) where each access's outer
/// stride is the inner stride times the inner extent, and no instruction uses an index along either.
void collapse_axes(Kernel& kernel);

// ---- column_sums.cpp
// Kernels that only sum over all rows: a GPU loops down tiles of columns, so it needs no partial sums and no
// kernel that finishes them.

/// The destination of the sum of a partial parameter: its type, and its strides along the kernel's axes.
struct ColumnSum {
  int param = -1;
  DType dtype = DType::f32;
  std::vector<Dim> strides = {};
};

/// Rewrites a kernel that has parallel and column axes, one column block, and accumulates along the columns
/// alone: its rows become reduced axes, its accumulations reductions, and its partial parameters take the
/// sums, rounded once. Each of them is in `sums`. False, and nothing changed, for other kernels.
bool sum_columns_in_tiles(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums);

// ---- conditional_sums.cpp
// A sum of select(p, x, 0) is the sum of x where p holds: the zeros need not be added.

/// Rewrites each such `reduce add` whose select is in the same block.
void sum_where_chosen(Kernel& kernel);

// ---- early_loads.cpp
// Issues loads of later blocks early. The blocks of a row that stays in registers are separated by
// reductions. Loads that only a later block reads do not depend on these reductions, so they are issued
// before the loads of the first block.

/// Gives loads of later blocks the form `early`, in order, while registers are available, in kernels where
/// all loads of a row are in flight concurrently. Skips prefetched loads and, where a block has several rows,
/// loads that all rows read, because these hit the cache.
void issue_loads_early(Kernel& kernel);

// ---- exchange_rounds.cpp
// Rounds of exchange: the threads of a block exchange sums through shared memory, which may be too small for
// all sums at once.

/// Gives reductions over reduced axes, and accumulations along the columns of rows in registers, the rounds
/// in which they are exchanged: as many together as shared memory holds. If shared memory does not hold a
/// vector's columns of a reduction, a round has fewer columns; if it does not hold one row per team of an
/// accumulation, the accumulation gets the form `sequential`.
void exchange_in_rounds(Kernel& kernel);

/// Returns the number of thread groups that exchange their parts of a reduced block: teams, or warps where
/// several teams share a warp and are joined by shuffles. The schedule determines the number.
int exchanging_groups(const Schedule& schedule);

// ---- fast_forms.cpp
// Short forms of functions, for results that are rounded to bf16 or f16: the rounding loses more than a short
// form.

/// Chooses fast forms in a kernel with a 16-bit parameter. Every function that has a short form, and whose
/// values reach memory only rounded to 16 bits, gets the form `fast`. It gets `fast_tangent` where the short
/// form loses digits near 0 that influence the result (an addition of 1 hides them). Sums of exponentials are
/// fast in each such kernel, because large exponentials, which dominate the sum, keep their digits.
void choose_fast_forms(Kernel& kernel);

// ---- inverse_divisions.cpp
// Replaces the division of a row by one number by a multiplication with its inverse, which costs one division
// per row.

/// Gives divisions of column values by row scalars, in row kernels, the form `inverse` where the divisor is a
/// sum of exponentials (at least 1: that of the maximum), else `scaled_inverse`.
void divide_by_inverses(Kernel& kernel);

// ---- keep_columns.cpp
// Keeps column values that one block computes and a later one would compute again: in the registers of a
// row's threads on a GPU, in a scratch row on a CPU.

struct KeepColumnsOptions {
  /// Keeps only values that take many instructions, or read random bits. Otherwise keeps as late a value as
  /// possible, so that one register replaces several loads; values that depend on indices and row scalars
  /// alone are not worth a register.
  bool expensive_only = false;
  /// Takes a value that a block has stored from the stored instruction instead of reading it back from
  /// memory.
  bool forward_stores = true;
};

/// Fills schedule.cached and drops instructions that have become unused. Returns false, and changes nothing,
/// where the blocks share nothing. Does nothing in a kernel that is flat, has reduced axes or has several
/// column axes.
bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options = {});

// ---- keep_exponentials.cpp
// Keeps exponentials of a softmax, which needs exp(x - m) twice: in the sum that goes with the maximum m, and
// in its result. The reduction keeps its exponentials; those of the result are scaled from them.

/// Gives exp(x - m) of later blocks the form `kept`, where m is the maximum of a max_sumexp of the same x: of
/// one reduction, or of the first `most_reductions` of several. Does nothing where a row has not exactly one
/// column axis. True where one got it.
bool keep_exponentials(Kernel& kernel, int64_t most_reductions);

/// The same for a GPU whose threads hold a row, for as many of the reductions as fit the registers that the
/// kept columns leave.
void keep_exponentials_in_registers(Kernel& kernel);

/// The max_sumexp that an exponential of the form `kept` is scaled from.
int reduction_of_kept(const Kernel& kernel, int exponential);

// ---- legalize.cpp
// Writes the consequences of a GPU schedule into the kernel: after these passes the CUDA printers make no
// decisions.

/// Runs the GPU passes of kernel_passes.def on a kernel that has a schedule and on its tail. First removes
/// the results of an earlier schedule: forms, exchange rounds, barriers and orders of loads. Keeps results
/// that do not depend on the schedule: the predicates of conditional_sums, the operands of unrounded_stores,
/// and the instructions that keep_columns removed from blocks that read Schedule::cached.
void legalize_for_gpu(Kernel& kernel);

// ---- loads_first.cpp
// Moves loads first in long sums: the CUDA compiler by itself keeps few loads of later indices in flight, so
// the loads of several reduced indices are placed before the work on the first index.

/// Sets `loads_first` of reduced blocks that are unrolled and read nothing but vectors in their innermost
/// loop.
void put_loads_first(Kernel& kernel);

// ---- ordered_comparisons.cpp
// Comparisons with a constant that hold for every number, but not for NaN: |x| >= 0, exp(x) > -1.

/// Writes such a comparison as x == x. ptxas (CUDA 13.0) otherwise folds it to true where it knows the sign
/// of x, also for a NaN.
void order_comparisons(Kernel& kernel);

// ---- prefetch_rows.cpp
// Prefetches rows in a grid-stride loop. Without prefetching, a block would wait for every row, because
// reductions separate its loads and its stores. So it issues the loads of the next rows before it works on
// the current row.

/// In a grid-stride loop with a prefetch distance, gives the form `prefetched` to as many of the first loads
/// as have space for their rows in shared memory.
void prefetch_rows(Kernel& kernel);

/// Returns whether a load can be issued before its block: it is a whole vector, and nothing writes its
/// memory.
bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns whether a load can be early, and each row has data of its own.
bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id);
/// Bytes of a vector of an access.
int64_t vector_bytes(const Kernel& kernel, int id);

// ---- row_barriers.cpp
// Barriers of rows that are overwritten in place. A value that every thread of a row reads may be overwritten
// by one of them; the barrier makes all reads come before any write.

/// Sets `after_barrier` of those column blocks of row kernels that store columns of a type which row code, or
/// code that is the same for all columns, has read before. A reduction in between is a barrier already.
void insert_row_barriers(Kernel& kernel);

// ---- unrounded_stores.cpp
// Removes roundings before stores: a store rounds to its memory's type, so its operand need not be rounded to
// that type before.

/// Gives stores of a converted value the value itself, where the conversion is to the nearest number of the
/// memory's type and both values are visible to the store.
void store_unrounded(Kernel& kernel);

// ---- exact_differences.cpp
// Differences that must not be contracted with the product before them.

/// Returns whether an instruction subtracts a stored or reduced value of the row from a product, such as
/// scores q k * scale minus their maximum, or the reverse. The maximum is a rounded product. A fused
/// multiply-add would subtract it from an unrounded product, and the largest element would exceed the maximum
/// by up to half of its last digit, which at 1e10 is 512.
bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id);

// ---- kinds of registered passes
// Kinds of the passes in kernel_passes.def, which says what each means.

enum class KernelPassKind : uint8_t { alone, gpu };

}  // namespace smelt
