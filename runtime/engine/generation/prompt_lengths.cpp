#include "runtime/engine/generation/prompt_lengths.h"

#include <limits>

namespace smelt {

size_t most_beside(const Symbols& symbols, std::string_view symbol, const SymbolValues& others) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const Symbols::Bound& bound : symbols.bounds()) {
    if (std::ranges::count(bound.factors, symbol) == 0) continue;
    int64_t beside = 1;
    for (const std::string& factor : bound.factors)
      if (const auto known = others.find(factor); known != others.end()) beside *= known->second;
    most = std::min(most, bound.upper / beside);
  }
  return static_cast<size_t>(most);
}

}  // namespace smelt
