#include "runtime/structured/token_bytes.h"

#include <algorithm>

namespace smelt::structured {

TokenBytes token_bytes(const Tokenizer& tokenizer, size_t count) {
  TokenBytes tokens;
  tokens.bytes.reserve(count);
  for (size_t id = 0; id < count; ++id) {
    const auto token = static_cast<int32_t>(id);
    tokens.bytes.push_back(tokenizer.bytes_of(token));
    if (tokenizer.bytes_of(token, true) != tokens.bytes.back())
      tokens.other_at_start.push_back(static_cast<uint32_t>(id));
  }
  return tokens;
}

TokenBytes byte_token_bytes(size_t count) {
  constexpr size_t kBytes = 256;
  TokenBytes tokens;
  tokens.bytes.resize(count);
  for (size_t byte = 0; byte < std::min(count, kBytes); ++byte)
    tokens.bytes[byte].assign(1, static_cast<char>(byte));
  return tokens;
}

}  // namespace smelt::structured
