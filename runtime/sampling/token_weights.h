// Conversion of scores (logits) to integer weights for drawing a token. Sums of integers do not depend on the
// order of the additions. So the CPU, the GPU and the reference evaluator of graphs choose the same token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smelt {

/// Settings for drawing the token of one row. Temperature, top_p, min_p and top_k are defined as in Hugging
/// Face's generation.
struct DrawSettings {
  float temperature = 1;       // <= 0 or NaN: no draw; the result is the lowest id with the largest score
  float top_p = 1, min_p = 0;  // top_p = 1: no limit; min_p = 0: no limit
  int32_t top_k = 0;           // below 1: no limit
  uint32_t seed = 0, position = 0, index = 0;  // arguments of random_bits
};

/// The weight of the largest score.
inline constexpr uint64_t kWholeWeight = uint64_t{1} << 40;
/// The largest number of words (tokens of the vocabulary) per row: the sum of their weights fits in 64 bits.
inline constexpr int64_t kMostWords = int64_t{1} << 23;

/// Returns an integer with the same order as the scores: a larger score has a larger integer. Both zeros have
/// the same integer, and NaN has the smallest.
uint32_t order_of(float score);
/// Returns the sort key ("place") of a word in its row. A word with a larger score has a larger key. Of two
/// words with equal scores, the one with the lower id has the larger key.
inline uint64_t place_of(float score, int64_t id) {
  return uint64_t{order_of(score)} << 32 | ~static_cast<uint32_t>(id);
}
/// Returns the id of the word that has this sort key.
inline int32_t word_at(uint64_t place) { return static_cast<int32_t>(~static_cast<uint32_t>(place)); }

/// Returns e^d in units of 2^-40, rounded down. Requires: d <= 0 or NaN. The result is 0 for d below -27.73
/// and for NaN. The error is at most 1e-7 * e^d plus one unit. The function is monotonic.
uint64_t weight_of(float d);
/// Computes the weights of all scores: weight_of((score - largest) * rate), where `rate` is 1 / temperature.
/// The largest score always has kWholeWeight, and -infinity has 0. `weights` has one element per score.
void weights_of(std::span<const float> scores, float largest, float rate, uint64_t* weights);

/// Returns 53 random bits for token number `position` (from 0) of sequence `index`.
uint64_t random_bits(uint32_t seed, uint32_t position, uint32_t index);
/// Returns floor(mass * bits / 2^53). If `bits` is a result of random_bits, this is a random number in [0,
/// mass). A mass is a sum of weights.
uint64_t drawn_part(uint64_t mass, uint64_t bits);
/// `mass` is the sum of the weights of the words from which top-p selects. Returns the sum of weights that
/// the words kept by top-p must reach: top_p * mass, rounded up, from 1 to `mass`.
uint64_t nucleus_mass(uint64_t mass, float top_p);
/// Returns the smallest weight that min-p keeps.
uint64_t least_weight(float min_p);

}  // namespace smelt
