#include "runtime/engine/serving/prefix_index.h"

#include <algorithm>

namespace smelt {
namespace {

/// FNV-1a over numbers, and its bits stirred once more, since lists go by the remainder.
uint64_t hash_of(uint64_t before, std::span<const int32_t> tokens) {
  uint64_t hash = before ^ 14695981039346656037ULL;
  for (const int32_t token : tokens) hash = (hash ^ static_cast<uint32_t>(token)) * 1099511628211ULL;
  return hash ^ (hash >> 32);
}

}  // namespace

PrefixIndex::PrefixIndex(size_t pages) : entries_(pages), lists_(2 * pages + 1, -1) {}

std::optional<int32_t> PrefixIndex::find(const Prefix& before, std::span<const int32_t> tokens) const {
  const uint64_t hash = hash_of(before.hash, tokens);
  for (int32_t page = lists_[hash % lists_.size()]; page >= 0; page = at(page).next) {
    const Entry& entry = at(page);
    if (entry.hash == hash && entry.before == before.last && std::ranges::equal(entry.tokens, tokens))
      return page;
  }
  return std::nullopt;
}

void PrefixIndex::add(int32_t page, const Prefix& before, std::span<const int32_t> tokens) {
  Entry& entry = at(page);
  entry.hash = hash_of(before.hash, tokens), entry.before = before.last, entry.number = ++numbers_;
  std::ranges::copy(tokens, entry.tokens.begin());
  int32_t& list = list_of(entry.hash);
  entry.next = list, list = page;
}

void PrefixIndex::remove(int32_t page) {
  if (!has(page)) return;
  int32_t* link = &list_of(at(page).hash);
  while (*link != page) link = &at(*link).next;
  *link = at(page).next;
  at(page).number = 0;
}

}  // namespace smelt
