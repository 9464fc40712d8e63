// PTX instructions of decode attention on tensor cores. Tests on a host replace this file.
// Requires: the prelude, and the macro MMA_TYPE, the type of the elements as a string, as in PTX.


// Returns two numbers rounded to elements, `low` in the lower 16 bits of the word.
SM unsigned pack(float low, float high) {
  unsigned word;
  asm("cvt.rn." MMA_TYPE "x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
// Return the number in the lower or the upper 16 bits of a word.
SM float low_of(unsigned word) {
  if (MMA_TYPE[0] == 'b') return __uint_as_float(word << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)word));
  return x;
}
SM float high_of(unsigned word) {
  return MMA_TYPE[0] == 'b' ? __uint_as_float(word & 0xFFFF0000u) : low_of(word >> 16);
}
// Transposes an 8 x 8 matrix of 16-bit elements. Before and after, a lane holds the elements of row lane / 4
// and of columns 2 * (lane % 4) (lower 16 bits) and 2 * (lane % 4) + 1. All lanes of a warp call this.
SM void transpose(unsigned& word) {
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(word));
}
// Returns x y for two pairs of elements.
SM unsigned multiply_pairs(unsigned x, unsigned y) {
  unsigned z;
  asm("fma.rn." MMA_TYPE "x2 %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(0x80008000u));
  return z;
}
// Returns x + y for two pairs of elements.
SM unsigned add_pairs(unsigned x, unsigned y) {
  unsigned z;
  asm("fma.rn." MMA_TYPE "x2 %0, %1, %2, %3;"
      : "=r"(z)
      : "r"(x), "r"(MMA_TYPE[0] == 'b' ? 0x3F803F80u : 0x3C003C00u), "r"(y));
  return z;
}
// d += a b for matrices d[16, 8], a[16, 16] and b[16, 8], whose elements the lanes of the warp hold as
// mma.m16n8k16 of the PTX manual says. With g = lane / 4 and q = lane % 4, a lane has
//   d   rows g, g, g + 8, g + 8 and columns 2q, 2q + 1, 2q, 2q + 1
//   a   words of two columns: row g, columns 2q and 2q + 1; row g + 8, these columns; row g, columns 2q + 8
//       and 2q + 9; row g + 8, these columns
//   b   words of two rows, in column g: rows 2q and 2q + 1 (b0), rows 2q + 8 and 2q + 9 (b1)
SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
