// exchange_addends: replaces a reduce_scatter with an all_to_all of the addends, followed by additions on
// each rank.
//
//   y = reduce_scatter(x)  ->  a = all_to_all(x), the ranks' addends of this rank's part
//                              y = a[0] + a[1] + ...
//
// The exchange is run by the copy engines of a GPU, and the additions are fused into the kernel that reads
// the sum. A sum by NCCL would take multiprocessors from concurrent matmuls. Each link carries as many bytes
// as before, but each rank must store one addend per rank until the sum is computed, and read all of them. So
// the pass replaces only large sums over few ranks, of values whose shape has a symbol, such as the batch
// size. This excludes gradients in the shape of flat states, which hold all parameters one after another:
// their addends would take too much memory. Runs after reassociate_sums. Ensures: addends are added in the
// order of the ranks; values differ only by the order of float additions.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct ExchangeAddendsOptions {
  int64_t least_bytes = int64_t{1} << 20;  // least bytes of the collective's operand, at the symbols' bounds
  int64_t most_ranks = 4;                  // most ranks along the collective's axis
};
template <typename Field>
void visit_options(Field& field, ExchangeAddendsOptions& o) {
  field("least_bytes", o.least_bytes), field("most_ranks", o.most_ranks);
}
/// Replaces the collectives; returns whether there were any to replace.
bool exchange_addends(Graph& graph, const ExchangeAddendsOptions& options);

}  // namespace smelt
