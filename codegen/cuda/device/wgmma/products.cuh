// Operands and sums of wgmma, and lanes that exchange values. The products themselves are made for each shape
// (wgmma_functions in codegen/cuda/wgmma_text.h).
// Requires: the macros SM and HALF_TYPE (a string); types.cuh and barriers.cuh.


// ---- wgmma
// A tile of 128-byte rows in shared memory, permuted as TMA does: 16-byte units. Chunks: bytes to the next 64
// elements of an operand whose neighbours along k do not lie together.
SM unsigned describe(unsigned address, unsigned chunk_bytes) { return (address & 0x3FFFF) >> 4 | (chunk_bytes >> 4) << 16; }
SM Descriptor descriptor(unsigned place) { return (Descriptor)(1u << 30 | 1024 >> 4) << 32 | place; }
// The same in all lanes of the warp, and so that the compiler knows it.
SM int uniform(int x) { return __shfl_sync(0xFFFFFFFFu, x, 0); }
SM void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SM void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups>
SM void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// Keeps what reads the sums behind the wait before it.
template <int n>
SM void pin(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int n>
SM void pin(unsigned (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
// The wait that follows comes after what x is made of: the compiler would wait first.
SM void finish(float x) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, -1;\n@p bra DONE;\nnanosleep.u32 0;\nDONE:\n}" ::"r"(__float_as_int(x)) : "memory");
}
template <int n>
SM void clear(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = 0.0f;
}

SM unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn." HALF_TYPE "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// The low one of two numbers that pack has rounded.
SM float low_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)both));
  return x;
}
// The high one.
SM float high_of(unsigned both) {
  if (HALF_TYPE[0] == 'b') return __uint_as_float(both & 0xFFFF0000u);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)(both >> 16)));
  return x;
}

// ---- lanes
// Lanes of a quad: word i of lane j becomes word j of lane i.
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
// One row's columns of an accumulator times a factor, 16 bytes a store: a quad holds two columns of each 8 a lane.
template <int n>
SM void store_row(Half* row, bool there, const float (&x)[n], int upper, float factor, int columns) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int g = 0; g < n / 4; g += 4) {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (g + i) + 2 * upper;
      w[i] = g + i < n / 4 ? pack(x[at < n ? at : 0] * factor, x[at < n ? at + 1 : 1] * factor) : 0;
    }
    transpose_quad(w);
    const int column = 8 * (g + lane);
    if (there && column < columns) *(Piece*)(row + column) = Piece{{w[0], w[1], w[2], w[3]}};
  }
}
