// Pooling: one vector from the last hidden states of the tokens of a text. The kinds and their results are
// those of the library sentence-transformers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// cls: the state of the first token. max: the largest value of each element. mean: the mean of the states of
/// all tokens. mean_sqrt_len_tokens: the sum of the states, divided by the square root of the number of
/// tokens. weightedmean: the weighted mean of the states; the first token has weight 1, the second one weight
/// 2, and so on. lasttoken: the state of the last token.
enum class Pooling : uint8_t { cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken };

/// Returns the kind with this name; nothing if there is none.
std::optional<Pooling> find_pooling(std::string_view name);
/// Returns the names of all kinds for messages: "cls, max, ...".
std::string pooling_names();

/// Pools the states [tokens, result.size()] of one text. The first `unpooled` tokens are left out, but never
/// the last token; with weightedmean, the other tokens keep their weights. Sums are computed in f64.
/// Requires: at least one token.
void pool(Pooling pooling, std::span<const float> states, size_t unpooled, std::span<float> result);

/// Divides the vector by its Euclidean length, or by 1e-12 if the length is less than 1e-12.
void normalize(std::span<float> vector);

}  // namespace smelt
