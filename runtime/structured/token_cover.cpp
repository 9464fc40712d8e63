#include "runtime/structured/token_cover.h"

#include <algorithm>

#include "runtime/structured/utf8_state.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostCovers = 32;
constexpr uint32_t kRareRequests = 16;  // a cover takes as long as a few masks

bool belongs(const Repeating& set, uint8_t byte) {
  return byte < 128 ? (set.ascii[byte / 64] >> byte % 64 & 1) != 0 : set.all_others;
}

/// Returns for each token, in the order of the trie, 0 if it is covered, else 1.
std::vector<uint8_t> other_tokens(const TokenTrie& trie, const Repeating& set, uint32_t most_bytes) {
  std::vector<uint8_t> others(trie.tokens.size(), 1);
  std::vector<Utf8State> path(trie.longest + 1);
  for (uint32_t i = 1; i < trie.count();) {
    const TrieNode& node = trie.nodes[i];
    const Utf8State state = path[node.depth] = path[node.depth - 1u].after(node.byte);
    if (node.depth > most_bytes || !state.is_valid() || !belongs(set, node.byte)) {
      i = node.end;
      continue;
    }
    for (uint32_t t = node.first_token; state.is_whole() && t < trie.nodes[i + 1].first_token; ++t)
      others[t] = 0;
    ++i;
  }
  return others;
}

/// Returns the sums of the elements before each element, and of all.
std::vector<uint32_t> sums_of(const std::vector<uint8_t>& values) {
  std::vector<uint32_t> sums(values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  return sums;
}

/// Assigns the nodes and skips of a cover.
void find_nodes(const TokenTrie& trie, const std::vector<uint32_t>& others, TokenCover& cover) {
  std::vector<uint32_t> open(trie.longest + 1, UINT32_MAX);  // per depth: the newest index without a skip
  const auto close = [&](uint32_t depth) {
    for (; depth <= trie.longest && open[depth] != UINT32_MAX; open[depth++] = UINT32_MAX)
      cover.skips[open[depth]] = static_cast<uint32_t>(cover.nodes.size());
  };
  for (uint32_t i = 1; i < trie.count();) {
    const TrieNode& node = trie.nodes[i];
    if (others[trie.nodes[node.end].first_token] == others[node.first_token]) {
      i = node.end;
      continue;
    }
    close(node.depth);
    open[node.depth] = static_cast<uint32_t>(cover.nodes.size());
    cover.nodes.push_back(i++);
    cover.skips.push_back(0);
  }
  close(1);
}

}  // namespace

TokenCover TokenCover::of(const TokenTrie& trie, const Repeating& set, uint32_t most_bytes) {
  TokenCover cover;
  const std::vector<uint8_t> others = other_tokens(trie, set, most_bytes);
  cover.mask.resize((trie.vocabulary + 63) / 64);
  for (size_t t = 0; t < others.size(); ++t)
    if (others[t] == 0) cover.mask[trie.tokens[t] / 64] |= uint64_t{1} << trie.tokens[t] % 64;
  find_nodes(trie, sums_of(others), cover);
  return cover;
}

TokenCovers::TokenCovers(std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {
  Repeating json_string;  // what needs no escape
  for (uint32_t c = ' '; c < 128; ++c)
    if (c != '"' && c != '\\') json_string.ascii[c / 64] |= uint64_t{1} << c % 64;
  json_string.all_others = true;
  for (const uint32_t most_bytes : {8u, 12u, 16u, 24u, trie_->longest})
    entry_of(json_string, most_bytes).requests = kRareRequests;
  for (Entry& entry : entries_) make(entry);
}

/// Returns the entry as the first one.
TokenCovers::Entry& TokenCovers::entry_of(const Repeating& set, uint32_t most_bytes) {
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.set == set && entry.most_bytes == most_bytes; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front({.set = set, .most_bytes = most_bytes, .cover = nullptr});
    if (entries_.size() > kMostCovers) entries_.pop_back();
  }
  return entries_.front();
}

void TokenCovers::make(Entry& entry) const {
  entry.cover = std::make_shared<const TokenCover>(TokenCover::of(*trie_, entry.set, entry.most_bytes));
}

std::shared_ptr<const TokenCover> TokenCovers::get(const Repeating& set, uint32_t most_bytes) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(set, most_bytes);
  if (!entry.cover && ++entry.requests >= kRareRequests) make(entry);
  return entry.cover;
}

}  // namespace smelt::structured
