// exchange_addends: a sum over ranks of which each keeps a part becomes an exchange of addends, which each
// rank adds up itself.
//
//   y = reduce_scatter(x)  ->  a = all_to_all(x), the ranks' addends of this rank's part
//                              y = a[0] + a[1] + ...
//
// Copy engines of a GPU exchange, and the additions join the kernel that reads the sum, where a sum by NCCL
// takes multiprocessors from matmuls beside it. The same bytes cross each link; a rank reads as many parts as
// there are ranks in place of one, and holds them until the sum is made. So these are sums of what depends on
// the batch, large ones of few ranks: flat states are long. Contract: addends are added in the order of the
// ranks; values stay the same but for the order in which floats are added. Runs after reassociate_sums.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace smelt {

struct ExchangeAddendsOptions {
  int64_t least_bytes = int64_t{1} << 20;  // of all addends that a rank has, at the symbols' bounds
  int64_t most_ranks = 4;
};
void set_option(ExchangeAddendsOptions& options, std::string_view key, std::string_view value);
bool exchange_addends(Graph& graph, const ExchangeAddendsOptions& options);

}  // namespace smelt
