// Tokens and their ids.
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
  /// A token that is there already gets this id.
  void add(std::string token, int32_t id);
  std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Nothing for an id that no token has; ids may have holes.
  std::optional<std::string_view> token(int32_t id) const;
  /// Returns the number of ids.
  size_t size() const { return tokens_.size(); }
  /// Calls call(token, id) for all, in no order.
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
  std::unordered_map<int32_t, std::string_view> tokens_;  // of the keys above, which stay where they are
};

}  // namespace smelt
