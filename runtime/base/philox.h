// Random numbers of dropout, by Philox4x32-7 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011). They are a pure function of the seed, the id of the random node, the step, the micro-step and the
// position (row, column) of an element in the result of the node. The column is the index in the last dim,
// and the row is the index of all other dims, flattened. So the CPU, a GPU and the evaluator of graphs
// (ir/evaluate) draw the same bits.
#pragma once

#include <array>
#include <cstdint>

namespace smelt {

/// Generator of the random numbers of one micro-step.
struct Philox {
  uint32_t seed = 0, step = 0;
  uint32_t micro_step = 0;  // high 16 bits: number of the micro-step; low 16 bits: 0

  /// Returns the generator for part number `part` of a batch that is divided into `parts` parts. The part
  /// draws the numbers of a separate micro-step, m * parts + part, where m is the number of this generator's
  /// micro-step.
  Philox of_part(int64_t parts, int64_t part) const {
    const auto number = static_cast<uint32_t>((micro_step >> 16) * parts + part);
    return {seed, step, number << 16 | (micro_step & 0xFFFFu)};
  }

  /// Returns four words with the random bits of eight elements of a row, 16 bits per element. The columns of
  /// these elements have the same quotient column / 8. The key of Philox is (seed, id), its counter (step,
  /// micro_step, row, column / 8).
  std::array<uint32_t, 4> words(uint32_t id, uint32_t row, uint32_t column) const {
    std::array<uint32_t, 4> c = {step, micro_step, row, column / 8};
    uint32_t k0 = seed, k1 = id;
    for (int round = 0; round < 7; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }

  /// Returns the 16 random bits of one element: of word `column % 8 / 2`, the low half for even columns and
  /// the high half for odd ones.
  uint32_t bits(uint32_t id, uint32_t row, uint32_t column) const {
    const uint32_t word = words(id, row, column)[column % 8 / 2];
    return column % 2 == 0 ? word & 0xFFFFu : word >> 16;
  }
};

}  // namespace smelt
