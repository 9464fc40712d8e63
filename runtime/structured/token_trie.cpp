#include "runtime/structured/token_trie.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/structured/utf8_state.h"

namespace smelt::structured {
namespace {

constexpr size_t kLongestToken = 4096;
constexpr size_t kMostNodes = 1u << 28;

std::vector<uint32_t> sorted_ids(const std::vector<std::string>& vocabulary) {
  std::vector<uint32_t> ids(vocabulary.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::erase_if(ids, [&](uint32_t id) { return vocabulary[id].empty(); });
  std::stable_sort(ids.begin(), ids.end(),
                   [&](uint32_t a, uint32_t b) { return vocabulary[a] < vocabulary[b]; });
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
    trie_.nodes.push_back(
        {.end = 0, .first_token = tokens(), .depth = 0, .byte = 0, .below = BytesBelow::other, .height = 0});
  }

 private:
  uint32_t tokens() const { return static_cast<uint32_t>(trie_.tokens.size()); }
  uint32_t nodes() const { return static_cast<uint32_t>(trie_.nodes.size()); }

  void add_node(uint8_t byte, size_t depth) {
    if (nodes() == kMostNodes) fail("structured output: the vocabulary is too large");
    const Utf8State state = open_.empty() ? Utf8State{} : open_.back().state.after(byte);
    open_.push_back({nodes(), state, true});
    trie_.nodes.push_back({.end = 0,
                           .first_token = tokens(),
                           .depth = static_cast<uint16_t>(depth),
                           .byte = byte,
                           .below = BytesBelow::ascii,
                           .height = 0});
    trie_.bytes_below.push_back({});
  }

  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    TrieNode& node = trie_.nodes[closed.node];
    node.end = nodes();
    if (node.below != BytesBelow::ascii)
      node.below = closed.is_utf8_below && closed.state.is_whole() ? BytesBelow::utf8 : BytesBelow::other;
    if (open_.empty()) return;
    Open& parent = open_.back();
    TrieNode& above = trie_.nodes[parent.node];
    auto& bytes = trie_.bytes_below[parent.node];
    for (size_t i = 0; i < 2; ++i) bytes[i] |= trie_.bytes_below[closed.node][i];
    if (node.byte < 128) bytes[node.byte / 64] |= uint64_t{1} << node.byte % 64;
    if (node.byte >= 128 || node.below != BytesBelow::ascii) above.below = BytesBelow::other;
    parent.is_utf8_below = parent.is_utf8_below && closed.is_utf8_below && closed.state.is_valid();
    above.height = static_cast<uint8_t>(std::max<int>(above.height, std::min(node.height + 1, 255)));
  }

  struct Open {
    uint32_t node;
    Utf8State state;
    bool is_utf8_below;
  };
  TokenTrie& trie_;
  std::vector<Open> open_;  // the nodes of the last text
  std::string last_;
};

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::string>& texts)
    : vocabulary(static_cast<uint32_t>(texts.size())) {
  TrieBuilder builder(*this);
  for (const uint32_t id : sorted_ids(texts)) {
    if (texts[id].size() > kLongestToken)
      fail("structured output: token {} has {} bytes, expected at most {}", id, texts[id].size(),
           kLongestToken);
    longest = std::max(longest, static_cast<uint32_t>(texts[id].size()));
    builder.add(texts[id], id);
  }
  builder.finish();
}

}  // namespace smelt::structured
