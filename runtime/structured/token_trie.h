// The tokens of a vocabulary as a trie, which masks of tokens traverse.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt {

/// Nodes in depth-first order, children in the order of their bytes. Node 0 is the root. The nodes below node `n` are
/// [n + 1, end[n]), and their tokens are [first_token[n + 1], first_token[end[n]]) of `tokens`.
class TokenTrie {
 public:
  /// Builds the trie of the bytes of each token, by id. Tokens without bytes (special ones) are not in it.
  explicit TokenTrie(const std::vector<std::string>& vocabulary);

  uint32_t nodes() const { return static_cast<uint32_t>(byte.size()); }

  std::vector<uint8_t> byte;          // the last one of the node's text
  std::vector<uint32_t> end;          // node after the last node below
  std::vector<uint16_t> depth;        // bytes of the node's text
  std::vector<uint32_t> first_token;  // per node, and one more
  std::vector<std::array<uint64_t, 2>> bytes_below;  // ASCII bytes of the nodes below
  std::vector<bool> only_ascii_below;
  std::vector<uint32_t> tokens;       // ids in the order of their nodes
  uint32_t longest = 0;               // bytes of the longest token
  uint32_t vocabulary = 0;            // tokens, with the special ones
};

}  // namespace smelt
