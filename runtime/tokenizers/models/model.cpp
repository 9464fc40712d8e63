#include "runtime/tokenizers/models/model.h"

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace smelt {

std::string_view TokenModel::text_of(const ModelToken& token, std::string_view) const {
  return vocabulary_.token(token.id).value_or("");
}

int32_t TokenModel::require_unknown(const std::string& token) const {
  const auto id = vocabulary_.find(token);
  if (!id) fail("tokenizer: a part of the text has no token, and the vocabulary has no '{}' for it", token);
  return *id;
}

std::vector<int32_t> byte_token_ids(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (int byte = 0; byte < 256; ++byte)
    ids.push_back(vocabulary.find(fmt::format("<0x{:02X}>", byte)).value_or(-1));
  return ids;
}

}  // namespace smelt
