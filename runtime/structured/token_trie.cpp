#include "runtime/structured/token_trie.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr size_t kLongestToken = 4096;
constexpr size_t kMostNodes = 1u << 28;

std::vector<uint32_t> sorted_ids(const std::vector<std::string>& vocabulary) {
  std::vector<uint32_t> ids(vocabulary.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::erase_if(ids, [&](uint32_t id) { return vocabulary[id].empty(); });
  std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return vocabulary[a] < vocabulary[b]; });
  return ids;
}

size_t common_prefix(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

class TrieBuilder {
 public:
  explicit TrieBuilder(TokenTrie& trie) : trie_(trie) { add_node(0, 0); }

  void add(const std::string& text, uint32_t id) {
    const size_t shared = common_prefix(last_, text);
    for (size_t i = last_.size(); i > shared; --i) close();
    for (size_t i = shared; i < text.size(); ++i) add_node(static_cast<uint8_t>(text[i]), i + 1);
    trie_.tokens.push_back(id);
    last_ = text;
  }

  void finish() {
    while (!open_.empty()) close();
    trie_.nodes.push_back({.end = 0, .first_token = tokens(), .depth = 0, .byte = 0, .only_ascii_below = true});
  }

 private:
  uint32_t tokens() const { return static_cast<uint32_t>(trie_.tokens.size()); }
  uint32_t nodes() const { return static_cast<uint32_t>(trie_.nodes.size()); }

  void add_node(uint8_t byte, size_t depth) {
    if (nodes() == kMostNodes) fail("structured output: the vocabulary is too large");
    open_.push_back(nodes());
    trie_.nodes.push_back({.end = 0,
                           .first_token = tokens(),
                           .depth = static_cast<uint16_t>(depth),
                           .byte = byte,
                           .only_ascii_below = true});
    trie_.bytes_below.push_back({});
  }

  void close() {
    const uint32_t node = open_.back();
    open_.pop_back();
    trie_.nodes[node].end = nodes();
    if (open_.empty()) return;
    const uint32_t parent = open_.back();
    const uint8_t byte = trie_.nodes[node].byte;
    auto& bytes = trie_.bytes_below[parent];
    for (size_t i = 0; i < 2; ++i) bytes[i] |= trie_.bytes_below[node][i];
    if (byte < 128) bytes[byte / 64] |= uint64_t{1} << byte % 64;
    if (byte >= 128 || !trie_.nodes[node].only_ascii_below) trie_.nodes[parent].only_ascii_below = false;
  }

  TokenTrie& trie_;
  std::vector<uint32_t> open_;  // the nodes of the last text
  std::string last_;
};

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::string>& texts) : vocabulary(static_cast<uint32_t>(texts.size())) {
  TrieBuilder builder(*this);
  for (const uint32_t id : sorted_ids(texts)) {
    if (texts[id].size() > kLongestToken)
      fail("structured output: token {} has {} bytes, expected at most {}", id, texts[id].size(), kLongestToken);
    longest = std::max(longest, static_cast<uint32_t>(texts[id].size()));
    builder.add(texts[id], id);
  }
  builder.finish();
}

}  // namespace smelt
