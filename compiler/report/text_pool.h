// Texts of a report by number: equal layers have equal texts, which are in it once.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

class TextPool {
 public:
  /// The number of this text.
  size_t add(std::string_view text) {
    const auto [it, is_new] = numbers_.try_emplace(std::string(text), texts_.size());
    if (is_new) texts_.push_back(text);
    return it->second;
  }
  /// All of them, in the order of their numbers.
  Json take() { return std::move(texts_); }

 private:
  std::map<std::string, size_t, std::less<>> numbers_;
  Json texts_ = Json::array();
};

}  // namespace smelt
