#include "runtime/tokenizers/encoding.h"

#include <algorithm>

namespace smelt {
namespace {

template <typename T>
void append_to(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

template <typename T>
void keep_in(std::vector<T>& list, size_t begin, size_t end) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(end), list.end());
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(begin));
}

Encoding padding_of(size_t count, const Padding& padding) {
  Encoding result;
  result.ids.assign(count, padding.id);
  result.type_ids.assign(count, padding.type_id);
  result.offsets.assign(count, {});
  result.special_tokens_mask.assign(count, 1);
  result.attention_mask.assign(count, 0);
  return result;
}

}  // namespace

void Encoding::append(const Encoding& other) {
  append_to(ids, other.ids);
  append_to(type_ids, other.type_ids);
  append_to(offsets, other.offsets);
  append_to(special_tokens_mask, other.special_tokens_mask);
  append_to(attention_mask, other.attention_mask);
}

void Encoding::keep(size_t begin, size_t end) {
  keep_in(ids, begin, end);
  keep_in(type_ids, begin, end);
  keep_in(offsets, begin, end);
  keep_in(special_tokens_mask, begin, end);
  keep_in(attention_mask, begin, end);
}

void pad(std::span<Encoding> encodings, const Padding& padding) {
  size_t length = padding.length.value_or(0);
  if (!padding.length)
    for (const Encoding& encoding : encodings) length = std::max(length, encoding.size());
  if (padding.multiple_of > 1)
    length = (length + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
  for (Encoding& encoding : encodings) {
    if (encoding.size() >= length) continue;
    Encoding filling = padding_of(length - encoding.size(), padding);
    if (padding.side == Side::right) {
      encoding.append(filling);
    } else {
      filling.append(encoding);
      encoding = std::move(filling);
    }
  }
}

}  // namespace smelt
