// Matrix products that are computed in parts, one per rank, concurrently with a collective. There are two
// cases. If the rows of the product's operand A come from an all_gather or an all_to_all, a GPU can begin
// with the parts of the ranks whose elements have arrived, and receives the elements of other ranks
// concurrently. If the rows of the product's result go into an all_to_all, the GPU can send finished parts
// while it computes others.
//
// Example of the first case in plan text, with N ranks and the buffers #x, #g, #w and #c:
//
//   collective all_gather #g(N*P) = #x of P rows B
//   gemm #c = #g(w, 1) * #w {m = B*N*P/w}
//
// The all_gather makes B rows. Each row has P elements of each rank, so rows begin N*P elements apart in #g.
// The product reads #g as its operand A, a matrix with w columns and the strides (w, 1). The P elements of a
// rank are then P/w rows of A. So the part of the product for one rank is a batch of B products with P/w rows
// each.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/step.h"

namespace smelt {

/// Returns the index of the product that reads the result of the collective (an all_gather or all_to_all) at
/// step `index` as the rows of its operand A. The product must be the step that waits for the collective. If
/// no later step waits, it must be the next step. Returns nothing if the steps are not of this form. Parts of
/// the product may be computed while rows of other ranks arrive. The collective's operand must then stay
/// unchanged until the product ends.
std::optional<size_t> reader_in_parts(const std::vector<Step>& steps, size_t index);

/// Returns the index of the step before the all_to_all at step `index`. That step must be a product whose
/// result rows are the operand of the all_to_all. Returns nothing if the steps are not of this form. Parts of
/// the product may be sent while others are computed. The result of the all_to_all is then written as soon as
/// the product begins.
std::optional<size_t> maker_in_parts(const std::vector<Step>& steps, size_t index);

/// Return the part of a product with the rows that come from, or go to, rank number `place` of the
/// collective. part_read is for a product that reads the collective's result, and part_made for one that
/// computes the collective's operand.
GemmStep part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Return the part of a product with the rows that this rank, number `place` of the collective, sends to
/// itself. If the collective is an all_gather, own_part_read reads these rows from the operand of the
/// all_gather, so that they need not be copied first. own_part_made writes them to the result of the
/// all_to_all, so that they need not be copied afterwards.
GemmStep own_part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep own_part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Sizes of a product that is computed in one part per rank, at one launch or at the symbols' bounds. A part
/// is a batch of `batch` products [rows, k] x [k, n].
struct PartedSizes {
  int64_t ranks = 1, batch = 1, rows = 0, n = 0, k = 0;  // ranks: number of parts
  int64_t part_bytes = 0;                                // bytes that each rank sends to each other rank
  DType dtype = DType::f32;
  bool tf32 = false;
};
/// Returns the sizes of a product from its part `part` (part_read or part_made). `value` returns the value of
/// a Dim.
PartedSizes parted_sizes(const GemmStep& part, const CollectiveStep& collective,
                         const std::function<int64_t(const Dim&)>& value);

/// Estimated seconds for the product and for the copies of its operand's or result's rows between GPUs.
/// `whole`: all copies are made first, and then the product is one launch. `parts`: each part is copied
/// concurrently with the product of another part.
struct PartedSeconds {
  double whole = 0, parts = 0;
};
PartedSeconds parted_seconds(const PartedSizes& sizes, int64_t multiprocessors);

}  // namespace smelt
