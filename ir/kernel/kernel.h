// Kernel IR: the computation of one fused kernel, without thread ids and barriers. A kernel runs its blocks
// in order for every index of its parallel axes:
//
//   row block       straight-line code on row scalars
//   column block    for every index of the column axes (the last one innermost); may reduce to row scalars
//   reduced block   for every index of the reduced axes, for every column: reduces to one accumulator per
//                   column, which later column blocks read as a value
//
// A kernel has either reduced axes (a column reduction, a segmented sum) or none (a row kernel).
// `Kernel::schedule` defines how an emitter maps it; both emitters read the two.
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

enum class AxisKind : uint8_t { parallel, column, reduced };

struct KernelAxis {
  AxisKind kind = AxisKind::parallel;
  std::string name;
  Dim extent;
  int begin = -1,
      end = -1;  // of a reduced axis that is a segment: row scalars (i32) that bound it instead of extent
  bool operator==(const KernelAxis&) const = default;
};

struct KernelParam {
  std::string name;
  DType dtype = DType::f32;
  bool output = false;
  bool input = true;
  bool partial =
      false;  // [splits, ...]: one slice a chunk of the parallel range, zeroed and added to by accumulate
  Dim partial_elements = 0;  // of one slice
  Dim table_elements = 0;    // a bound on the elements that computed indices reach; 0: not known
  std::optional<IndexBounds> indices = {};  // of integers: the numbers that are read, or will be written
  int64_t alignment =
      0;  // bytes that its address is a multiple of at every launch; 0: the size of an element
  bool operator==(const KernelParam&) const = default;
};

/// Element of a parameter: offset + sum_i strides[i] * axis_i + computed * computed_stride.
struct Access {
  int param = -1;
  Dim offset = 0;
  std::vector<Dim> strides = {};  // one an axis of the kernel, 0 where it does not move
  int computed = -1;              // an integer value: the computed index of a gather
  Dim computed_stride = 0;
  bool operator==(const Access&) const = default;
};

/// Form of an instruction that has several implementations. Passes over kernels choose it for a GPU (and
/// `kept` for a CPU); the text form writes it after the instruction's name: exp.fast, load.early.
enum class Form : uint8_t {
  plain,
  fast,            // of a function or a max_sumexp: short, some ulp off, where memory holds fewer digits
  fast_tangent,    // fast, but near 0, where the short form loses its digits, the tangent there
  inverse,         // of a division: times the inverse of the divisor, which is made once a row and at least 1
  scaled_inverse,  // the same where the divisor may be subnormal: its inverse is made in larger units
  kept,            // of exp(x - m): scaled from the exponentials that the max_sumexp which made m has left
  early,           // of a load: it is issued before the row's first block
  prefetched,      // of a load: it is issued Schedule::prefetch_distance rows before its own
  sequential,      // of an accumulate: a block's teams add to one row of sums one after the other
};

/// Source operation of an instruction, by its index in the body of the fusion that the kernel was lowered
/// from; -1: unknown. It is for diagnostics: the text form omits it, and comparisons of kernels ignore it.
struct Origin {
  int node = -1;
  bool operator==(const Origin&) const { return true; }
};

/// Instruction; its number in Kernel::instructions names its value. Arithmetic is in f32 (or i32, bool);
/// `dtype` is the type of the value, for load and store the type in memory.
struct Instruction {
  enum class Kind : uint8_t {
    constant,    // number
    index,       // the index along `axis`, i32
    scalar,      // op over operands
    convert,     // operand rounded to dtype (and widened again when it is read), to the nearest or, with a
                 // second operand of 16 random bits, stochastically to bf16: float bits plus them, cut to the
                 // upper 16 (NaN stays NaN)
    random,      // 16 random bits as i32 for the element (row, column) of the random op's own shape; id =
                 // random_ids[slot]
    load,        // access, only where `predicate` holds (else 0)
    store,       // operand to access, only where `predicate` holds
    accumulate,  // adds operand to access of a partial param: the running sum of this chunk
    reduce,  // reduce_op over the block's axes of operand (of an add: only where `predicate` holds): a row
             // scalar (column block) or an accumulator a column
    result,  // the second (slot-th) result of a reduce
    handed,  // what a template computes for its body: of attention the slot-th of score, product, weight,
             // delta; of a matmul the element of the result (in its slot-th part), rounded to dtype
  };
  Kind kind = Kind::constant;
  DType dtype = DType::f32;
  Form form = Form::plain;
  std::vector<int> operands = {};
  double number = 0;
  ScalarOp scalar_op{};
  ReduceOp reduce_op{};
  int axis = -1;
  int slot = 0;
  Access access = {};
  int predicate = -1;
  // The flattened row of a random op = offset + sum strides[i] * axis_i over all axes but its last.
  Dim random_offset = 0;
  std::vector<Dim> random_strides = {};
  int random_axis = -1;  // the kernel axis of its last dim; -1: it has no dim or the index is fixed
  Dim random_begin = 0;  // added to that axis: where a part of a draw begins, or the fixed index
  // GPU only, for sums that the threads of a block exchange (a reduce over reduced axes, an accumulate): the
  // sums of one round are in shared memory together, this number of columns of a vector at a time (0: all).
  int exchange_round = 0, exchange_columns = 0;
  Origin origin = {};
  bool operator==(const Instruction&) const = default;
};

struct KernelBlock {
  enum class Scope : uint8_t { row, column, reduced } scope = Scope::row;
  std::vector<int> instructions;  // in order; a value is visible to its block, row values to all later blocks
  // On a GPU alone:
  bool after_barrier = false;  // all threads of a row synchronise before it
  bool loads_first = false;    // of a reduced block: the loads of `unroll` indices come before their work
  bool operator==(const KernelBlock&) const = default;
};

/// Number of terms of a long sum that are summed in f32 before they become one term of an f64 sum.
constexpr int64_t kShortSumTerms = 32;

/// Returns the number of slices that a buffer of partial sums has room for: with `sum_rows` each has an f64
/// sum per element, too.
constexpr int64_t partial_slices(int64_t splits, int64_t sum_rows) {
  return sum_rows > 0 ? 3 * splits : splits;
}

/// Mapping of a kernel by an emitter; plain data made by `schedule`.
struct Schedule {
  bool flat = false;        // the parallel range is the single column axis itself
  int vector_width = 16;    // elements
  int64_t tile = 512;       // columns worked on at a time (random bits, column accumulators), a multiple of 8
  int64_t grain = 1;        // parallel indices a chunk
  int64_t splits = 0;       // chunks of a kernel with partial results
  int64_t sum_rows = 0;     // on a CPU: rows whose partial results become a term of f64 sums; 0: no f64 sums
  std::vector<int> cached;  // column values kept in a scratch row between blocks instead of computed again
  int64_t cached_elements = 0;  // the most columns a row with cached values can have
  // On a GPU a chunk is a block of threads. GPU-only fields follow.
  int threads = 0;  // of a block
  int team = 0;     // threads that share a row; of a column reduction, those along the columns of a tile
  int vectors = 0;  // of a row in one thread, all in registers; 0: rows are walked in a loop
  int unroll = 1;   // vectors that are loaded before the first is worked on
  int prefetch_distance = 0;  // rows whose vectors are being loaded while the loop works on one
  bool interleaved = false;   // blocks take rows alternately; else each has a range of neighbouring rows
  bool index32 = false;       // every index fits 32 bits
  int64_t short_sum = 0;      // terms of a thread's sum that become a term of an f64 sum; 0: no f64 sums
  bool operator==(const Schedule&) const = default;
};

struct Kernel {
  std::string name;
  std::vector<KernelParam> params;
  std::vector<KernelAxis> axes;
  std::vector<Instruction> instructions;
  std::vector<KernelBlock> blocks;
  int row_predicate = -1;  // a row scalar: rows where it is false are skipped (set in the first block)
  Schedule schedule;
  int random_slots = 0;
  // On a GPU alone:
  std::optional<AttentionKernel> attention = {};  // then the instructions are its body
  std::optional<GemmKernel> gemm = {};            // then they are what becomes of its result
  bool waits = false;                             // first for the previous launches (KernelCode::waits)
  int copies = 1;                                 // number of sets of arguments that one launch runs it on
  std::vector<Kernel> before;  // at most one, of a `gemm` of few rows: every block runs all of it first, into
                               // shared memory; what it stores elsewhere the first block does alone
  std::vector<Kernel> beside;  // other kernels that blocks of the same launch run, whose parameters follow
  std::vector<Kernel> tail;    // small kernels that the block which ends last runs afterwards, one after the
                               // other, whose parameters follow this one's

  /// Returns whether the instructions are the body of a template.
  bool has_template() const { return attention || gemm; }
  /// Returns the number of arguments of a step: those of all copies, of the prologue (without its last
  /// parameter, which is in shared memory), of the horizontally fused kernels, then of the tail.
  size_t arguments() const;
  /// Returns the product of the parallel extents, for reduced kernels times the column tiles: the range that
  /// the runtime splits.
  Dim range() const;
  /// Returns the number of thread blocks of a kernel without splits or a template: its own and those of
  /// horizontally fused kernels.
  Dim grid() const;
  /// Returns the threads of a block: the largest number that the kernel and its horizontally fused kernels
  /// need.
  int threads() const;
  /// Returns whether the code, and its assumptions, are equal up to the name: such kernels are compiled once.
  bool same_code(const Kernel& other) const;
};

/// Returns whether an instruction has this form.
bool has_form(const Instruction& instruction, Form form);

std::string print(const Kernel& kernel);
/// Parses the text of print; throws Error with file, line, column, the line and a caret.
Kernel parse_kernel(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
