// Suggestions for a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Returns the names nearest to `word` by edit distance, at most three, in their order; up to a third of the
/// letters may differ. The part after a name's last dot is compared as well: "heads" is near "decoder.heads".
std::vector<std::string> nearest_names(std::string_view word, llvm::ArrayRef<std::string> names);

/// Returns "; did you mean A, B or C?" for these names, or nothing.
std::string did_you_mean(std::string_view word, llvm::ArrayRef<std::string> names);

}  // namespace smelt
