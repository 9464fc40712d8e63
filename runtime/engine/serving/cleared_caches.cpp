#include "runtime/engine/serving/cleared_caches.h"

namespace smelt {
namespace {

/// Returns whether a state has keys or values, [slots,positions,heads,width] or
/// [pages,positions,heads,width].
bool has_keys_or_values(const State& state) { return state.role == Role::cache && state.shape.size() == 4; }

CacheKind kind_of(const State& state) {
  return state.name.find(".cross.") == std::string::npos ? CacheKind::tokens : CacheKind::sources;
}

}  // namespace

void clear_caches(Session& session, CacheKind kind, size_t begin, size_t count) {
  for (const State& state : session.plan().states)
    if (has_keys_or_values(state) && kind_of(state) == kind)
      session.clear_rows(state.name, static_cast<int64_t>(begin), static_cast<int64_t>(count));
}

}  // namespace smelt
