#include "passes/graph/axes/split_letters.h"

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

char SplitLetters::unused() const {
  for (char letter : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (used_.find(letter) == std::string::npos) return letter;
  fail("matmul \"{}\": its axes are split into more than there are letters", spec_.str());
}

void SplitLetters::split(char letter, const Shape& parts) {
  std::string names;
  for (size_t i = 0; i < parts.size(); ++i) names += unused(), used_ += names.back();
  parts_[letter] = {names, parts};
}

std::string SplitLetters::names(const std::string& letters) const {
  std::string result;
  for (char letter : letters) {
    const auto split = parts_.find(letter);
    result += split == parts_.end() ? std::string(1, letter) : split->second.first;
  }
  return result;
}

Shape SplitLetters::shape(const std::string& letters, const Shape& before) const {
  Shape result;
  for (auto [letter, extent] : llvm::zip(letters, before)) {
    const auto split = parts_.find(letter);
    if (split == parts_.end())
      result.push_back(extent);
    else
      llvm::append_range(result, split->second.second);
  }
  return result;
}

}  // namespace smelt
