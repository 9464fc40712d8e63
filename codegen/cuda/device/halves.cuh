// 16-bit numbers, words of two of them, and their exchange between lanes.
// Requires: the macros SM (the qualifiers of a device function) and HALF_TYPE (the 16-bit element type in PTX, as
// a string).


typedef unsigned short Half;  // the bits of a 16-bit number
struct alignas(16) Piece { unsigned bits[4]; };  // eight Halfs, loaded or stored at once
struct alignas(16) Four { float x, y, z, w; };  // loaded or stored at once

// Returns a word of two numbers rounded to 16 bits: `low` in its low half, `high` in its high half.
SM unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn." HALF_TYPE "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// Returns the number in the low half of such a word, as f32.
SM float low_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)both));
  return x;
}
// Returns the number in the high half, as f32.
SM float high_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both & 0xFFFF0000u);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)(both >> 16)));
  return x;
}

// ---- lanes
// Transposes 4 x 4 words in a quad (four adjacent lanes): word i of lane j becomes word j of lane i. All
// lanes of a warp call it.
SM void transpose_quad(unsigned (&w)[4]) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const bool upper = lane & bit;
      const unsigned other = __shfl_xor_sync(0xFFFFFFFFu, upper ? w[i] : w[i | bit], bit);
      if (upper) w[i] = other;
      else w[i | bit] = other;
    }
}
