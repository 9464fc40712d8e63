#include "runtime/engine/generation/cache_bounds.h"

#include <algorithm>

#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/plan/device_kind.h"

namespace smelt {

CacheBounds::CacheBounds(const Plan& plan, const DecodeInterface& decode)
    : symbols_(plan.symbols), decode_(decode), pads_(device_kind(plan.target).captures_runs) {}

SymbolValues CacheBounds::of_rows(size_t rows) const {
  return decode_.rows_symbol.empty() ? SymbolValues()
                                     : SymbolValues{{decode_.rows_symbol, static_cast<int64_t>(rows)}};
}

size_t CacheBounds::longest_run(size_t rows) const {
  return std::max<size_t>(1, most_beside(symbols_, decode_.run_symbol, of_rows(rows)));
}

size_t CacheBounds::run_length(size_t tokens, size_t rows) const {
  if (!pads_ || tokens == 1) return tokens;
  return padded_length(tokens, longest_run(rows), capacity());
}

size_t CacheBounds::source_length(size_t tokens, size_t rows) const {
  if (!pads_ || !decode_.masks_source) return tokens;
  return padded_length(tokens, most_beside(symbols_, decode_.source_symbol, of_rows(rows)),
                       decode_.source_capacity);
}

/// A token that has left its position in a ring is outside the windows of a run's tokens, which come after
/// it.
bool CacheBounds::holds(size_t length, size_t furthest) const {
  return decode_.ring == 0 || furthest <= decode_.ring || length + decode_.run_tokens > furthest;
}

}  // namespace smelt
