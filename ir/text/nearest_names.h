// What somebody may have meant by a name that is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Those of `names` that are least letters away from `word`, at most three, in their order; a letter in three
/// may differ. The part behind a name's last dot counts as its name too: "heads" is near "decoder.heads".
std::vector<std::string> nearest_names(std::string_view word, llvm::ArrayRef<std::string> names);

/// "; did you mean A, B or C?" of these, or nothing.
std::string did_you_mean(std::string_view word, llvm::ArrayRef<std::string> names);

}  // namespace smelt
