#include "runtime/engine/serving/cache_rows.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/serving/choosing_rows.h"
#include "runtime/engine/serving/mixed_rows.h"
#include "runtime/engine/serving/page_rows.h"
#include "runtime/engine/serving/slot_rows.h"
#include "runtime/engine/serving/source_rows.h"
#include "runtime/plan/device_kind.h"

namespace smelt {

std::unique_ptr<CacheRows> CacheRows::of(Session& session, bool shares_prefixes) {
  const DecodeInterface decode(session.plan());
  if (decode.reads_source) return std::make_unique<SourceRows>(session, decode);
  if (decode.in_rows()) return std::make_unique<SlotRows>(session, decode);
  if (!decode.in_pages())
    fail(
        "the plan has no entries {} and {} with caches, nor {}, {} and {}: expected a decoder compiled with "
        "--mode infer and without --no-kv-cache",
        entry::decode, entry::reorder, entry::read_pages, entry::decode_pages, entry::step_pages);
  if (decode.mixes_rows) return std::make_unique<MixedRows>(session, decode, shares_prefixes);
  if (decode.samplers.tokens) return std::make_unique<ChoosingRows>(session, decode, shares_prefixes);
  return std::make_unique<PageRows>(session, decode, shares_prefixes);
}

size_t CacheRows::exact_rows(const Session& session, size_t rows) {
  const int64_t exact = device_kind(session.plan().target).most_exact_rows;
  return exact > 0 ? std::min(rows, static_cast<size_t>(exact)) : rows;
}

void CacheRows::check_source(std::span<const int32_t> source) const {
  if (!source.empty())
    fail("a source of {} tokens: the model has no encoder; expected a prompt alone", source.size());
}

CacheRows::CacheRows(const DecodeInterface& decode)
    : vocabulary_(static_cast<int64_t>(decode.vocabulary)),
      slots_(decode.rows),
      capacity_(decode.capacity),
      has_adapters_(decode.adapters > 0) {}

}  // namespace smelt
