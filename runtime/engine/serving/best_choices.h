// Selection of the choices that a reply returns if more were generated (best_of of OpenAI's API).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/engine/serving/request.h"

namespace smelt {

/// Returns the numbers of the choices that a reply returns. `choices` has `best_of` choices per prompt, one
/// prompt after the other. If `best_of` = `n`, the result has all choices in their order. Otherwise it has,
/// for each prompt, the `n` choices with the highest mean log-probability of a new token (0 if there are no
/// new tokens), the highest first. Choices with equal means keep their order. Requires: best_of >= n > 0, and
/// the log-probabilities of new tokens were requested if best_of > n.
std::vector<size_t> best_choices(std::span<const Progress> choices, size_t n, size_t best_of);

}  // namespace smelt
