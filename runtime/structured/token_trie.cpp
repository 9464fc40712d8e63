#include "runtime/structured/token_trie.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"

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

/// A position in UTF-8: the continuation bytes that follow, and the range of the next one.
struct Utf8State {
  static constexpr uint8_t kInvalid = 255;
  uint8_t rest = 0, first = 0x80, last = 0xBF;

  Utf8State after(uint8_t byte) const {
    if (rest == kInvalid) return *this;
    if (rest > 0)
      return byte >= first && byte <= last ? Utf8State{static_cast<uint8_t>(rest - 1)} : Utf8State{kInvalid};
    if (byte < 0x80) return {};
    if (byte < 0xC2 || byte > 0xF4) return {kInvalid};
    if (byte < 0xE0) return {1};
    if (byte < 0xF0)
      return {2, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
              static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
    return {3, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
};

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
      node.below = closed.is_utf8_below && closed.state.rest == 0 ? BytesBelow::utf8 : BytesBelow::other;
    if (open_.empty()) return;
    Open& parent = open_.back();
    TrieNode& above = trie_.nodes[parent.node];
    auto& bytes = trie_.bytes_below[parent.node];
    for (size_t i = 0; i < 2; ++i) bytes[i] |= trie_.bytes_below[closed.node][i];
    if (node.byte < 128) bytes[node.byte / 64] |= uint64_t{1} << node.byte % 64;
    if (node.byte >= 128 || node.below != BytesBelow::ascii) above.below = BytesBelow::other;
    parent.is_utf8_below =
        parent.is_utf8_below && closed.is_utf8_below && closed.state.rest != Utf8State::kInvalid;
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
