#include "runtime/engine/serving/cache_rows.h"

#include "runtime/base/error.h"
#include "runtime/engine/serving/choosing_rows.h"
#include "runtime/engine/serving/page_rows.h"
#include "runtime/engine/serving/slot_rows.h"

namespace smelt {

std::unique_ptr<CacheRows> CacheRows::of(Session& session, bool shares_prefixes) {
  if (session.has_entry("encode"))
    fail("the plan is an encoder-decoder's: only decoders are served; use generate");
  const bool has_pages = session.has_entry(kDecodePages) && session.has_entry(kReadPages);
  if (has_pages && ChoosingRows::has_entries(session))
    return std::make_unique<ChoosingRows>(session, shares_prefixes);
  if (has_pages && session.has_entry(kStepPages)) return std::make_unique<PageRows>(session, shares_prefixes);
  if (!session.has_entry("decode") || !session.has_entry("reorder"))
    fail(
        "the plan has no entries decode and reorder with caches, nor {}, {} and {}: expected a decoder "
        "compiled with --mode infer and without --no-kv-cache",
        kReadPages, kDecodePages, kStepPages);
  return std::make_unique<SlotRows>(session);
}

}  // namespace smelt
