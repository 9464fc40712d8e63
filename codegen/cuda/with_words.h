// Replacement of words in CUDA text, such as the name of a kernel.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace smelt {

/// Returns the text with every occurrence of a pair's first string replaced by its second string.
inline std::string with_words(std::string_view from,
                              std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
  std::string text(from);
  for (const auto& [word, value] : words)
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size())
      text.replace(at, word.size(), value);
  return text;
}

}  // namespace smelt
