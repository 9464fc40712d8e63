// Selection of the choices that a reply returns if more were generated (best_of of OpenAI's API).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/engine/serving/request.h"

namespace smelt {

/// Returns the numbers of the choices that a reply returns. `choices` has `best_of` choices per prompt, one
/// prompt after the other. If `best_of` > `n`, the result has, for each prompt, the `n` choices with the
/// highest mean log-probability of a new token, best first, and earlier ones before equal later ones; the
/// mean of no tokens is 0. Otherwise it has all choices in their order. Requires: best_of >= n > 0, and the
/// log-probabilities of new tokens were requested if best_of > n.
std::vector<size_t> best_choices(std::span<const Progress> choices, size_t n, size_t best_of);

}  // namespace smelt
