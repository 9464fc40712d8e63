// The steps of a plan: what runs, one after the other, over places in buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/dim.h"
#include "runtime/dtype.h"
#include "runtime/ranks/communicator.h"

namespace smelt {

/// A place in a buffer: what a kernel parameter or a matrix points to.
struct BufferRef {
  int buffer = -1;
  Dim offset;  // elements
  bool operator==(const BufferRef&) const = default;
};

/// Whose random numbers a rank draws: part `part` of `parts` of a batch has those of a micro-step of its own,
/// as if one rank did the parts one after the other (Philox::of_part).
struct RandomPart {
  Dim parts = 1, part = 0;
  bool operator==(const RandomPart&) const = default;
};

/// One launch of a kernel over its parallel range.
struct KernelStep {
  int kernel = -1;
  std::vector<BufferRef> arguments;           // in the order of the kernel's parameters
  std::vector<uint32_t> random_ids;           // in the order of the kernel's random instructions
  std::vector<RandomPart> random_parts = {};  // of each of them; empty: none is of a part
};

/// A sum of products C[m,n] = alpha * sum_k A[m,k] B[k,n] + beta * C[m,n] + bias[n], repeated over `batch`.
/// Every matrix has a row and a column stride; one of the two is 1.
struct GemmStep {
  struct Matrix {
    BufferRef base;
    Dim row_stride, column_stride;
  } a, b, c;
  Dim m, n, k;
  double alpha = 1, beta = 0;
  struct Batch {
    Dim extent, a_stride, b_stride, c_stride;
    bool reduced = false;  // accumulates into the same C instead of moving along it
  };
  std::vector<Batch> batch = {};
  DType dtype = DType::f32;            // of A and B; products are summed in f32
  DType result_dtype = DType::f32;     // of C and the bias
  bool tf32 = false;                   // a GPU may leave out 13 bits of the mantissas of f32 operands
  std::optional<BufferRef> bias = {};  // C's columns lie together, no batch is reduced
  bool a_i8 = false, b_i8 = false;  // this operand lies in memory as i8; on a CPU, and one of the two at most
};

/// A stable counting sort of `count` indices below `rows`: permutation[i] is the position of the i-th
/// smallest, and begins[r]..begins[r+1] bounds row r's part of it (rows + 1 numbers). Indices outside [0,
/// rows) are left out.
struct SortIndexStep {
  struct Workspace {
    BufferRef base;
    Dim elements;
  };
  BufferRef indices, permutation, begins;
  Dim count, rows;
  std::optional<Workspace> workspace = {};  // i32, of a GPU's sort of many indices
};

/// y[o, i, j] = x[o, 0, j] . x[o, 1, j] . ... . x[o, i, j] (without the last one where exclusive), where `.`
/// is the kind: "add", "max" (NaN wins) or "mul", of f32 or i32. An element is at o * outer_stride + i *
/// stride + j.
struct ScanStep {
  BufferRef x, y;
  Dim outer, count, inner;
  Dim x_outer_stride, x_stride, y_outer_stride, y_stride;
  std::string kind = "add";
  bool exclusive = false;
  DType dtype = DType::f32;
};

/// The k largest of each of `rows` rows of `count` f32 elements, which begin `row_stride` apart: the largest
/// first, equal ones in the order of their indices, NaN last. A row of fewer elements ends with -inf at -1.
struct TopKStep {
  BufferRef x, values, indices;  // the results are dense
  Dim rows, count, row_stride, k;
};

/// A token of each of `rows` rows of `count` f32 scores, which begin `row_stride` apart, drawn as row `i` of
/// numbers (temperature, top_p, min_p) and of integers (top_k, seed, position, index) says: DrawSettings in
/// runtime/sampling/token_weights.h. A temperature of 0 takes the first of the largest. Beside it the log of
/// its probability by the softmax of the scores as they are. -1 and NaN where a score is NaN or none is above
/// -infinity.
struct SampleStep {
  BufferRef scores, numbers, integers, tokens, log_probabilities;  // the results are dense
  Dim rows, count, row_stride, numbers_stride, integers_stride;
};

/// Copies a box of `extents` elements between two strided places.
struct CopyStep {
  BufferRef from, to;
  Shape extents;
  std::vector<Dim> from_strides, to_strides;
  DType dtype = DType::f32;
  /// Of a dense copy to or from what the host holds of a state (State::resident), as that of a collective.
  int waited_at = -1;
};

/// Fills `elements` elements with one value.
struct FillStep {
  BufferRef to;
  Dim elements;
  double value = 0;
};

std::string_view name(CollectiveKind kind);  // "all_reduce"
std::optional<CollectiveKind> parse_collective_kind(std::string_view text);
std::string_view name(CollectiveSum sum);  // "add", "max"
std::optional<CollectiveSum> parse_collective_sum(std::string_view text);
/// Whether the ranks' elements are summed.
inline bool is_sum(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

/// What the `ranks` ranks along an axis of the mesh do together (runtime/ranks/communicator.h), with parts of
/// `elements` elements: `from` and `to` hold one part, or one for each rank, one behind the other: `from` of
/// reduce_scatter, `to` of all_gather, both of all_to_all. All ranks of a group run such steps in one order.
/// `rows` of that are done as one, row i at i * from_stride and at i * to_stride: along a dim of a tensor
/// that is not its outermost, parts are rows of memory that lie apart.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string axis;    // of Plan::mesh
  BufferRef from, to;  // may be the same place in all_reduce, and share no element else
  Dim elements, ranks;
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;  // of all_reduce and reduce_scatter
  /// On a GPU it may run beside the steps behind it, up to the one of this number, which waits for it; the
  /// number of steps of its entry: the end does. -1: the next step waits. None between touches `to` or writes
  /// to `from`.
  int waited_at = -1;
  Dim rows = 1, from_stride = 0, to_stride = 0;  // elements; rows of `to` share none

  bool reads_parts() const {
    return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all;
  }
  bool writes_parts() const {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  }
  /// Of a row.
  Dim from_elements() const { return reads_parts() ? elements * ranks : elements; }
  Dim to_elements() const { return writes_parts() ? elements * ranks : elements; }
};

struct Step {
  std::variant<KernelStep, GemmStep, SortIndexStep, ScanStep, TopKStep, SampleStep, CopyStep, FillStep,
               CollectiveStep>
      what;
  std::vector<int> reads, writes;              // buffers
  std::vector<std::pair<int, int>> may_alias;  // (written, read) buffers that may share memory
  std::vector<std::string> sources;            // names of the nodes it came from
  std::string phase;                           // "forward", "backward", "update"
  /// Products of matrices that another step of the entry has computed before, to save memory.
  bool recomputed = false;
  /// On a GPU, kernels of the plan that are launched with the step's fields (TemplateLaunch), one after the
  /// other: they do what the step says. Of a gemm the first one that takes the sizes does it or is measured
  /// against the library's (TemplateLaunch::measured).
  std::vector<int> kernels = {};
  /// Of steps that are one way of several to do some work: which of PlanEntry::choices, and which of its
  /// alternatives. All steps of a choice stand together, those of its first alternative first.
  int choice = -1, alternative = 0;
};

/// CollectiveStep::waited_at and CopyStep::waited_at; -1 of all other steps.
int waited_at(const Step& step);

}  // namespace smelt
