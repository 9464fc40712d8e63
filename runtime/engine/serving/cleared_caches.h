// Removal of keys and values that are no numbers from the caches of a plan. Attention multiplies the values
// at positions that it masks by 0, so a NaN there makes the result NaN, also for the next text in a slot or
// page.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/session/session.h"

namespace smelt {

/// Caches of the tokens of a decoder, and of the sources of an encoder-decoder.
enum class CacheKind : uint8_t { tokens, sources };

/// Sets `count` slots or pages, from number `begin` on, of all caches of this kind to zeros, after the runs
/// that were started before.
void clear_caches(Session& session, CacheKind kind, size_t begin, size_t count);

}  // namespace smelt
