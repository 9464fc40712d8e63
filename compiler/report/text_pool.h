// TextPool: numbers for the texts of a report. Equal texts, which are frequent because layers are alike, have
// one number and are stored once.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

class TextPool {
 public:
  /// Adds the text unless the pool has it. Returns its number.
  size_t add(std::string_view text) {
    const auto [it, is_new] = numbers_.try_emplace(std::string(text), texts_.size());
    if (is_new) texts_.push_back(text);
    return it->second;
  }
  /// Returns a list of all texts, in the order of their numbers, and leaves the pool unusable.
  Json take() { return std::move(texts_); }

 private:
  std::map<std::string, size_t, std::less<>> numbers_;
  Json texts_ = Json::array();
};

}  // namespace smelt
