// Matrix products that overlap with a collective. The rows of the product's operand A come from a gather or
// an exchange between N ranks, or the rows of its result go into an exchange. In this example, #x, #g, #w and
// #c are buffers. The collective has B rows, in each of which a rank has P elements; numbers in parentheses
// are strides in elements (of the collective's rows; of the matrix's rows and columns). w is the row length
// of A:
//
//   collective all_gather #g(N*P) = #x of P rows B          row b of #g: P elements of each of N ranks
//   gemm #c = #g(w, 1) * #w {m = B*N*P/w}                   rows of the product: B times N times P/w
//
// The rows of A that come from one rank are P/w rows in each of the B rows: a batch of B products. So a GPU
// can compute the products of ranks whose elements have arrived while those of other ranks arrive. Likewise,
// if the result is exchanged, the GPU can send the parts that are computed while it computes others.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/step.h"

namespace smelt {

/// Returns the step after the collective (an all_gather or all_to_all) at step `index`, or the step that
/// waits for it if there is one, if that step is a product whose operand A has the rows of the collective's
/// result. Parts of the product may then be computed while other rows arrive. The collective's operand is
/// then read until that product ends. Returns nothing if the steps are not of this form.
std::optional<size_t> reader_in_parts(const std::vector<Step>& steps, size_t index);

/// Returns the step before the all_to_all at step `index` if that step is a product whose result rows are
/// exchanged. Parts of the product may then be sent while others are computed. The result of the all_to_all
/// is then written from that product on. Returns nothing if the steps are not of this form.
std::optional<size_t> maker_in_parts(const std::vector<Step>& steps, size_t index);

/// Return the part of a product with the rows that come from, or go to, the rank with the number `place` in
/// the collective. `part_read` is for a product that reads the collective's result, `part_made` for one that
/// makes its operand.
GemmStep part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Return the part of this rank, whose number in the collective is `place`. If the collective is an
/// all_gather, own_part_read reads the rows from its operand, so that they need not be copied first.
/// own_part_made writes the rows to the result of the exchange, so that they need not be copied afterwards.
GemmStep own_part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep own_part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Sizes of a product in parts, at one launch or at the symbols' bounds.
struct PartedSizes {
  int64_t ranks = 1, batch = 1, rows = 0, n = 0, k = 0;  // batch and rows are those of one part
  int64_t part_bytes = 0;                                // bytes that each rank sends to each other rank
  DType dtype = DType::f32;
  bool tf32 = false;
};
/// Returns the sizes of a product from its part `part` (part_read or part_made). `value` returns the value of
/// a Dim.
PartedSizes parted_sizes(const GemmStep& part, const CollectiveStep& collective,
                         const std::function<int64_t(const Dim&)>& value);

/// Estimated seconds for the product and the copies of its parts between GPUs. `whole`: all copies are made
/// first, and then the product is one launch. `parts`: each part is copied concurrently with the product of
/// another part.
struct PartedSeconds {
  double whole = 0, parts = 0;
};
PartedSeconds parted_seconds(const PartedSizes& sizes, int64_t multiprocessors);

}  // namespace smelt
