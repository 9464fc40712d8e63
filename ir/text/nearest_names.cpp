#include "ir/text/names.h"

#include <algorithm>

#include "llvm/ADT/StringRef.h"

namespace smelt {
namespace {

constexpr size_t kMostNames = 3;

unsigned distance(llvm::StringRef word, llvm::StringRef name) {
  const llvm::StringRef last = name.substr(name.rfind('.') + 1);  // all of it where there is no dot
  return std::min(word.edit_distance(name), word.edit_distance(last));
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view word, llvm::ArrayRef<std::string> names) {
  auto least = static_cast<unsigned>(std::max<size_t>(1, word.size() / 3));
  std::vector<std::string> nearest;
  for (const std::string& name : names) {
    const unsigned letters = distance(word, name);
    if (letters > least) continue;
    if (letters < least) nearest.clear();
    least = letters;
    if (nearest.size() < kMostNames) nearest.push_back(name);
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, llvm::ArrayRef<std::string> names) {
  std::string text;
  const std::vector<std::string> nearest = nearest_names(word, names);
  for (size_t i = 0; i < nearest.size(); ++i)
    text += (i == 0 ? "; did you mean " : i + 1 < nearest.size() ? ", " : " or ") + nearest[i];
  return text.empty() ? text : text + "?";
}

}  // namespace smelt
