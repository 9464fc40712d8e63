// Products of matrices whose rows are the parts of a gather or an exchange between ranks.
//
//   collective all_gather #g(N*P) = #x of P rows B          row b of #g: P elements of each of N ranks
//   gemm #c = #g(w, 1) * #w {m = B*N*P/w}                   rows of the product: B times N times P/w
//
// The rows that come from one rank are a batch of B products of P/w rows. So a GPU begins with the parts that
// have arrived, and if ranks exchange the product, it sends the parts that are done.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/step.h"

namespace smelt {

/// Returns the first step that needs the result of gather or exchange number `index`, if that step is a
/// product of its rows: parts of it may be computed while others arrive. The gather's operand is read until
/// its end.
std::optional<size_t> reader_in_parts(const std::vector<Step>& steps, size_t index);

/// Returns the step before exchange number `index` if it is a product whose rows are exchanged: parts may be
/// sent while others are computed, so the exchange's result is written from that step on.
std::optional<size_t> maker_in_parts(const std::vector<Step>& steps, size_t index);

/// Returns the part of a product that has the rows of the rank at `place`.
GemmStep part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Return the part of this rank, which is at `place`. It is read from the gather's operand, so that it need
/// not wait for a copy, or written to the exchange's result, so that it need not be copied.
GemmStep own_part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place);
GemmStep own_part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place);

/// Sizes of a product in parts at one launch, or at the bounds.
struct PartedSizes {
  int64_t ranks = 1, batch = 1, rows = 0, n = 0, k = 0;  // batch and rows: of one part
  int64_t part_bytes = 0;                                // that each rank gives each other one
  DType dtype = DType::f32;
  bool tf32 = false;
};
PartedSizes parted_sizes(const GemmStep& part, const CollectiveStep& collective,
                         const std::function<int64_t(const Dim&)>& value);

/// Estimated seconds of the product and the copies of its parts, from their sizes: `whole`, one after the
/// other; `parts`, one part's copy concurrently with another part's product.
struct PartedSeconds {
  double whole = 0, parts = 0;
};
PartedSeconds parted_seconds(const PartedSizes& sizes, int64_t multiprocessors);

}  // namespace smelt
