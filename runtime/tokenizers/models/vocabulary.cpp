#include "runtime/tokenizers/models/vocabulary.h"

namespace smelt {

void Vocabulary::add(std::string token, int32_t id) {
  const auto [entry, is_new] = ids_.insert_or_assign(std::move(token), id);
  tokens_[id] = entry->first;
}

std::optional<std::string_view> Vocabulary::token(int32_t id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace smelt
