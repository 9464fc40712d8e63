#include "runtime/tokenizers/normalizers/charsmap.h"

#include <cstring>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

// The fields of a unit of the trie.
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & ~(1u << 31); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, std::string_view where) {
  if (bytes.empty()) return;
  uint32_t trie_bytes = 0;
  if (bytes.size() >= sizeof trie_bytes) std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  bytes.remove_prefix(std::min(bytes.size(), sizeof trie_bytes));
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > bytes.size())
    fail_with(Status::invalid_file,
              "{}: the charsmap's trie of {} bytes is not in the {} bytes behind its length", where,
              trie_bytes, bytes.size());
  units_.resize(trie_bytes / 4);
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  texts_ = bytes.substr(trie_bytes);
  if (!is_utf8(texts_)) fail_with(Status::invalid_file, "{}: the charsmap's texts are not UTF-8", where);
}

std::optional<Charsmap::Rule> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Rule> rule;
  if (units_.empty()) return rule;
  uint32_t at = offset_of(units_[0]);
  for (uint32_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    const uint32_t here = unit(at);
    if (label_of(here) != byte) break;
    at ^= offset_of(here);
    if (!has_leaf(here)) continue;
    const uint32_t begin = value_of(unit(at));
    if (begin > texts_.size()) continue;
    const size_t end = texts_.find('\0', begin);
    const std::string_view replacement =
        std::string_view(texts_).substr(begin, end == std::string::npos ? end : end - begin);
    if (!replacement.empty() && !begins_code_point(replacement[0])) continue;  // amid a code point
    rule = {i + 1, replacement};
    if (first) break;
  }
  return rule;
}

}  // namespace smelt
