// Limit on the number of new tokens of a request, from options that limit the whole text.
#pragma once

#include "runtime/engine/serving/request.h"

namespace smelt {

/// A batch counts only new tokens. If options.max_length is set, which limits the prompt and the new tokens
/// together, replaces it with max_new_tokens. Throws Error if the prompt leaves no room for a new token.
void count_new_tokens(Request& request);

}  // namespace smelt
