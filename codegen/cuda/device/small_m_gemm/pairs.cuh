// PTX instructions on pairs of 16-bit floats in a word. Tests that run on a CPU replace this file.
// Requires: the macro SM, the qualifiers of a device function.


// Returns a * b + c, of two pairs of floats each, rounded once.
SM unsigned fma_two_bf16(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
SM unsigned fma_two_f16(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
// Returns (x & mask) | bits, in one instruction.
SM unsigned mask_or(unsigned x, unsigned mask, unsigned bits) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(result) : "r"(x), "r"(mask), "r"(bits));
  return result;
}
// Returns the bits of x rounded to f16.
SM unsigned half_of(float x) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
// Returns bytes of x and y, selected by the four low hexadecimal digits of `bytes`.
SM unsigned pick_bytes(unsigned x, unsigned y, unsigned bytes) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(bytes));
  return picked;
}
