// Kernel IR: the computation of one fused kernel, without thread ids and barriers. For every index of its
// parallel axes (a "row"), a kernel runs its blocks in order:
//
//   row block       straight-line code on scalars of the row
//   column block    code for every index of the column axes (the last one innermost); it may reduce over
//                   the columns to scalars of the row
//   reduced block   code for every column and every index of the reduced axes; it reduces values to one
//                   accumulator per column, which later column blocks read as a value
//
// A kernel without reduced axes is called a row kernel. A kernel with reduced axes computes a column
// reduction, or a segmented sum, in which each row adds up a different range of elements. `Kernel::schedule`
// defines how the code emitters for CPUs and GPUs map the loops to vectors, threads and blocks. A "block" in
// this header is a KernelBlock, unless the text says thread block.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel/attention_kernel.h"
#include "ir/kernel/gemm_kernel.h"
#include "ir/ops/op.h"
#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The loop that an axis belongs to: over rows, over columns, or over the elements of a reduction per column.
enum class AxisKind : uint8_t { parallel, column, reduced };

/// One axis of the kernel's loop nest.
struct KernelAxis {
  AxisKind kind = AxisKind::parallel;
  std::string name;
  Dim extent;
  /// For a reduced axis of a segmented sum, whose bounds differ between rows: numbers of the instructions
  /// that compute the begin and the end of the loop (i32 scalars of the row). -1: the loop is from 0 to
  /// `extent`.
  int begin = -1, end = -1;
  bool operator==(const KernelAxis&) const = default;
};

/// Pointer to a tensor in memory that the kernel reads or writes.
struct KernelParam {
  std::string name;
  DType dtype = DType::f32;
  bool output = false;  // the kernel writes it
  bool input = true;    // the kernel reads it
  /// The parameter is a buffer of partial sums, [splits, ...]: one slice per chunk of the parallel range
  /// (Schedule::splits). The kernel sets its slice to zero, and `accumulate` instructions add to it.
  bool partial = false;
  Dim partial_elements = 0;  // elements of one slice
  Dim table_elements = 0;    // limit of the elements that computed indices can reach; 0: not known
  std::optional<IndexBounds> indices = {};  // for integers: bounds of all numbers in the tensor
  int64_t alignment = 0;                    // alignment of the address, in bytes; 0: the size of an element
  bool operator==(const KernelParam&) const = default;
};

/// Element of a parameter that an instruction accesses. Its number is offset + sum_i strides[i] * (index
/// along axis i) + (value of instruction `computed`) * computed_stride.
struct Access {
  int param = -1;  // index into Kernel::params
  Dim offset = 0;
  std::vector<Dim> strides = {};  // one per axis of the kernel; 0: the access does not depend on the axis
  int computed = -1;              // number of an integer instruction: the index of a gather; -1: none
  Dim computed_stride = 0;
  bool operator==(const Access&) const = default;
};

/// Implementation of an instruction, if there are several. Passes over kernels choose it. All forms but
/// `kept` are for GPUs only. In the text of a kernel, the form is written after the instruction's name:
/// exp.fast, load.early.
enum class Form : uint8_t {
  plain,
  /// Function such as exp, or the reduction max_sumexp: a fast approximation with an error of a few ulp. It
  /// is chosen if the results are stored in a type with fewer digits than f32.
  fast,
  /// Function: as `fast`, but near 0, where the approximation has a large relative error, the tangent of the
  /// function at 0 is computed instead.
  fast_tangent,
  /// Division: multiplication by the inverse of the divisor, which is computed once per row. The divisor is
  /// at least 1.
  inverse,
  /// As `inverse`, for any divisor. The divisor is scaled first, because it may be subnormal.
  scaled_inverse,
  /// exp(x - m), where m is the maximum that a max_sumexp has computed. That reduction has stored
  /// exp(x - m'), where m' is the maximum of fewer elements. This form multiplies the stored value by
  /// exp(m' - m).
  kept,
  /// Load: issued before the first block of the row.
  early,
  /// Load: issued Schedule::prefetch_distance rows before the row that uses it.
  prefetched,
  /// Accumulate: the thread groups ("teams") of a thread block add to the same sums, one group after the
  /// other.
  sequential,
};

/// Source operation of an instruction. A kernel is made from a fusion; `node` is the index of a node in the
/// body of that fusion; -1: unknown. It is for diagnostics only: the text form omits it, and comparisons of
/// kernels ignore it.
struct Origin {
  int node = -1;
  bool operator==(const Origin&) const { return true; }
};

/// An instruction. It computes one value or none. Its number is its index in Kernel::instructions, and
/// operands are given by the numbers of the instructions that compute them. Arithmetic is in f32 (or i32,
/// bool). `dtype` is the type of the value, or for load and store the type in memory.
struct Instruction {
  enum class Kind : uint8_t {
    constant,  // `number`
    index,     // the index along `axis`, i32
    scalar,    // scalar_op of the operands
    /// The operand rounded to dtype, and widened again when it is read. It is rounded to the nearest number
    /// or, with a second operand of 16 random bits, stochastically to bf16: the random bits are added to the
    /// bits of the float, and the lower 16 bits are cut off (NaN stays NaN).
    convert,
    /// 16 random bits, as i32, for the element (row, column) of the random op's shape (see random_offset
    /// below). The id of the random numbers is the step's random_ids[slot].
    random,
    load,   // the element at `access`; 0 if `predicate` does not hold
    store,  // stores the operand at `access`, if `predicate` holds
    /// Adds the operand to the element at `access` of a partial parameter (KernelParam::partial), in the
    /// slice of the current chunk.
    accumulate,
    /// reduce_op of the operand over the axes of the block: a scalar of the row in a column block, or one
    /// accumulator per column in a reduced block. An add skips the elements for which `predicate` does not
    /// hold.
    reduce,
    result,  // result number `slot` of the operand, which is a reduce with several results
    /// Block argument that the template computes for its body. For attention, `slot` selects score, product,
    /// weight or delta. For a matmul the block argument is an element of the product, rounded to dtype;
    /// `slot` is the number of the part that has the element (SmallMTiles::parts).
    handed,
  };
  Kind kind = Kind::constant;
  DType dtype = DType::f32;
  Form form = Form::plain;
  std::vector<int> operands = {};  // numbers of instructions
  double number = 0;
  ScalarOp scalar_op{};
  ReduceOp reduce_op{};
  int axis = -1;
  int slot = 0;
  Access access = {};
  int predicate = -1;  // number of a boolean instruction; -1: always
  // For `random`: the element's row, flattened over all dims of the random op's shape but the last, is
  // random_offset + sum_i random_strides[i] * (index along axis i).
  Dim random_offset = 0;
  std::vector<Dim> random_strides = {};
  int random_axis = -1;  // axis along the last dim, the columns; -1: no axis, because the column is fixed
  Dim random_begin = 0;  // added to the index along that axis; the fixed column if there is no axis
  /// GPU only, for sums that the threads of a thread block exchange through shared memory (a reduce over
  /// reduced axes, an accumulate). `exchange_round`: sums with the same number are in shared memory at the
  /// same time. `exchange_columns`: columns of a vector that are exchanged at a time; 0: all.
  int exchange_round = 0, exchange_columns = 0;
  Origin origin = {};
  bool operator==(const Instruction&) const = default;
};

/// Straight-line code in one of the loop nests that are described at the top of this header.
struct KernelBlock {
  enum class Scope : uint8_t { row, column, reduced } scope = Scope::row;
  /// Numbers of instructions, in order. A value is visible in its own block; scalars of the row also in all
  /// later blocks.
  std::vector<int> instructions;
  // GPU only:
  bool after_barrier = false;  // the threads that share a row synchronise before the block
  bool loads_first = false;  // reduced block: loads of Schedule::unroll indices come before their arithmetic
  bool operator==(const KernelBlock&) const = default;
};

/// A long sum is computed in two levels: this many terms are added up in f32, and their sum is then added to
/// a sum in f64.
constexpr int64_t kShortSumTerms = 32;

/// Returns the number of f32 slices that a buffer of partial sums must have. If `sum_rows` > 0
/// (Schedule::sum_rows), each of the `splits` slices also needs an f64 slice, as large as two f32 slices.
constexpr int64_t partial_slices(int64_t splits, int64_t sum_rows) {
  return sum_rows > 0 ? 3 * splits : splits;
}

/// Mapping of a kernel's loops to vectors, threads and thread blocks. The back end chooses it, and the
/// emitters of code read it. The range of parallel indices (Kernel::range) is divided into chunks: work items
/// of a CPU, or thread blocks of a GPU.
struct Schedule {
  bool flat = false;      // the range is the kernel's only column axis, not its rows
  int vector_width = 16;  // elements
  int64_t tile = 512;     // columns processed at a time (random bits, column accumulators); a multiple of 8
  int64_t grain = 1;      // parallel indices per chunk, unless `splits` is set
  int64_t splits = 0;     // number of chunks of a kernel with partial results; 0: it has none
  int64_t sum_rows = 0;   // CPU only: rows per f32 sum, before it is added to an f64 sum; 0: no f64 sums
  /// Numbers of instructions in column blocks whose values are kept for later blocks, one value per column (a
  /// scratch row), so that they are not computed again.
  std::vector<int> cached;
  int64_t cached_elements = 0;  // largest number of columns of such a scratch row
  // GPU only:
  int threads = 0;  // per thread block
  int team = 0;     // threads that share a row; in a column reduction, threads along the columns of a tile
  int vectors = 0;  // vectors of a row per thread, all in registers; 0: a loop processes the row's vectors
  int unroll = 1;   // vectors that are loaded before the arithmetic on the first one
  int prefetch_distance = 0;  // rows from the issue of a load to the row that uses it; 0: no prefetches
  bool interleaved = false;   // consecutive rows are in different thread blocks; false: in the same one
  bool index32 = false;       // every index fits in 32 bits
  int64_t short_sum = 0;      // terms that a thread sums in f32 before it adds to an f64 sum; 0: no f64 sums
  bool shifted = false;  // lanes of a warp exchange elements where vectors to be stored begin at any byte
  bool operator==(const Schedule&) const = default;
};

/// A fused kernel, and for GPUs the other kernels that the same launch runs.
struct Kernel {
  std::string name;
  std::vector<KernelParam> params;
  std::vector<KernelAxis> axes;
  std::vector<Instruction> instructions;
  std::vector<KernelBlock> blocks;
  /// Number of a boolean instruction of the first block, a scalar of the row. Rows for which it is false are
  /// skipped. -1: no rows are skipped.
  int row_predicate = -1;
  Schedule schedule;
  int random_slots = 0;                           // number of ids of random numbers that a step provides
  std::optional<AttentionKernel> attention = {};  // if set, the instructions are its body (score_mod)
  // GPU only:
  std::optional<GemmKernel> gemm = {};  // set: the instructions are the epilogue of this matmul
  /// Programmatic dependent launch: the kernel may start before the previous launches have ended, and waits
  /// for them itself (KernelCode::waits).
  bool waits = false;
  /// The bits of a row's results depend on the instructions and the length of the row alone: teams and
  /// vectors have sizes that follow from the length, and there are no approximations (Target::same_bits).
  bool in_order = false;
  int copies = 1;  // one launch runs the kernel this many times, each with other arguments
  /// Prologue of a small-M `gemm`: at most one kernel. Every thread block runs the whole prologue first; its
  /// result is in shared memory. Only the first thread block executes the prologue's stores to device memory.
  std::vector<Kernel> before;
  /// Horizontally fused kernels, which other thread blocks of the same launch run.
  std::vector<Kernel> beside;
  /// Last-block epilogue: small kernels. The last thread block to end runs them, one after the other.
  std::vector<Kernel> tail;

  /// Returns whether the instructions are the body of a template.
  bool has_template() const { return attention || gemm; }
  /// Returns the number of buffers that a step passes to the launch. They are, in this order, the arguments
  /// of each of the `copies`, of the prologue, of the horizontally fused kernels, and of the tail. The last
  /// parameter of the prologue is in shared memory and has no argument.
  size_t arguments() const;
  /// Returns the size of the range that is divided into chunks. It is the product of the parallel extents. In
  /// a kernel with reduced axes, this product is multiplied by the number of column tiles. If Schedule::flat,
  /// the size is the number of columns. With a template, the size is the number of the template's work items.
  Dim range() const;
  /// Returns the number of thread blocks of the launch, including those of the horizontally fused kernels.
  /// Requires: no splits, no template.
  Dim grid() const;
  /// Returns the number of threads per thread block: the largest number that the kernel or one of the
  /// horizontally fused kernels needs.
  int threads() const;
  /// Returns whether the kernels are equal except for names. Such kernels are compiled once.
  bool same_code(const Kernel& other) const;
};

/// Returns whether there is an implementation of this form for the instruction.
bool has_form(const Instruction& instruction, Form form);

/// Returns the text form of a kernel.
std::string print(const Kernel& kernel);
/// Parses the text that print returned. Throws Error with file, line, column, the line and a caret; `file` is
/// its name in messages.
Kernel parse_kernel(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
