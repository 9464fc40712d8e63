// Text of a whole sequence that a beam search has found.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "runtime/engine/serving/request.h"

namespace smelt {

/// Returns a function for Request::text_of_beam. `begin` returns a new function for the text of single tokens
/// that follow the prompt.
inline std::function<std::string(std::span<const int32_t>)> text_of_beam(
    std::function<TextOfTokens()> begin) {
  return [begin = std::move(begin)](std::span<const int32_t> tokens) {
    const TextOfTokens text = begin();
    std::string all;
    for (const int32_t token : tokens) all += text(token);
    return all + text(std::nullopt);
  };
}

}  // namespace smelt
