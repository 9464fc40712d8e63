// TextPool: the distinct texts of a report, such as the names of tensors, each with a number by which the
// report refers to it. Texts repeat often, because layers are alike; a repeated text is stored once.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

class TextPool {
 public:
  /// Adds the text unless the pool has it. Returns its number, counted from 0.
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
