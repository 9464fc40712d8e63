// Conversion of scores to weights for drawing a token. Weights are integers, so that their sums do not depend
// on the order: a CPU, a GPU (codegen/cuda/step_kernels.h has the same operations as text) and the
// evaluator choose the same token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smelt {

/// Settings for drawing the token of one row; the names are Hugging Face's.
struct DrawSettings {
  float temperature = 1;  // 0, or anything that is not above it: the first of the largest scores
  float top_p = 1, min_p = 0;
  int32_t top_k = 0;  // below 1: all
  uint32_t seed = 0, position = 0, index = 0;
};

/// The weight of the largest score. A million words cannot overflow 64 bits.
inline constexpr uint64_t kWholeWeight = uint64_t{1} << 40;
inline constexpr int64_t kMostWords = int64_t{1} << 23;

/// Returns an integer in the order of the floats, both zeros equal; NaN is below all.
uint32_t order_of(float score);
/// A word among those of its row as one number: the largest score first, then the lowest id.
inline uint64_t place_of(float score, int64_t id) {
  return uint64_t{order_of(score)} << 32 | ~static_cast<uint32_t>(id);
}
inline int32_t word_at(uint64_t place) { return static_cast<int32_t>(~static_cast<uint32_t>(place)); }

/// e^d in units of 2^-40, rounded down, for d from 0 down; 0 below -27.73, and of NaN. Relative to e^d it is
/// right to 1e-7 (and the unit), and it never falls while d rises: tests look at every float.
uint64_t weight_of(float d);
/// Computes the weights of all scores at 1 / rate: weight_of((score - largest) * rate), and always
/// kWholeWeight for the largest, 0 for -infinity.
void weights_of(std::span<const float> scores, float largest, float rate, uint64_t* weights);

/// Returns 53 random bits for the token after the first `position` ones of sequence `index`.
uint64_t random_bits(uint32_t seed, uint32_t position, uint32_t index);
/// The random part of a mass: below it.
uint64_t drawn_part(uint64_t mass, uint64_t bits);
/// Returns the mass that top-p requires, from 1 to all.
uint64_t nucleus_mass(uint64_t mass, float top_p);
/// Returns the least weight that min-p keeps.
uint64_t least_weight(float min_p);

}  // namespace smelt
