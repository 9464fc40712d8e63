// Vocabulary: the texts of tokens and their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smelt {

class Vocabulary {
 public:
  /// Adds a token. If it exists already, find() returns the new id; the old id still has its text.
  void add(std::string token, int32_t id);
  /// Returns the id of a token; nothing if there is no such token.
  std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Returns the token with this id; nothing if there is none (ids need not be contiguous).
  std::optional<std::string_view> token(int32_t id) const;
  /// Returns the number of ids that have a token.
  size_t size() const { return tokens_.size(); }
  /// Calls call(token, id) for all tokens, in unspecified order.
  template <typename Call>
  void each(Call call) const {
    for (const auto& [token, id] : ids_) call(token, id);
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<int32_t, std::string_view> tokens_;  // views of the keys of ids_, which do not move
};

}  // namespace smelt
