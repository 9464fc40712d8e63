// The tokens of a vocabulary as a trie of their bytes. The computation of token masks traverses it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt::structured {

/// Kind of the bytes on the paths from a node of the trie to the nodes below it.
enum class BytesBelow : uint8_t {
  ascii,  // only ASCII bytes
  utf8,   // the bytes of each path are valid UTF-8, but the last character may be incomplete
  other
};

/// A node stands for a text that is the beginning of tokens.
struct TrieNode {
  uint32_t end;          // node after the last node below
  uint32_t first_token;  // index in `tokens` of the first token at or below the node
  uint16_t depth;        // bytes of the text
  uint8_t byte;          // the last one of the text
  BytesBelow below;      // kind of the bytes on the paths to the nodes below
  uint8_t height;        // length in bytes of the longest path to a node below; 255: 255 or more
  auto operator<=>(const TrieNode&) const = default;
};

/// Nodes in depth-first order, children in the order of their bytes. Node 0 is the root, and the last entry
/// of `nodes` ends the list. The nodes below node `n` are [n + 1, nodes[n].end), and the tokens of nodes [i,
/// j) are [nodes[i].first_token, nodes[j].first_token) of `tokens`.
class TokenTrie {
 public:
  /// Builds the trie of the bytes of each token, by id. Tokens without bytes (special ones) are not in it.
  /// Throws Error (invalid_argument) if a token has more than 4096 bytes.
  explicit TokenTrie(const std::vector<std::string>& vocabulary);

  uint32_t count() const { return static_cast<uint32_t>(nodes.size() - 1); }

  std::vector<TrieNode> nodes;
  std::vector<std::array<uint64_t, 2>> bytes_below;  // per node: set of the ASCII bytes of the nodes below
  std::vector<uint32_t> tokens;                      // ids in the order of their nodes
  uint32_t longest = 0;                              // bytes of the longest token
  uint32_t vocabulary = 0;                           // tokens, with the special ones
};

}  // namespace smelt::structured
