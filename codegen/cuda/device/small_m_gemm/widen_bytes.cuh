// Exact conversion of signed bytes to 16-bit floats, bf16 or f16. Tests that run on a CPU replace this
// file. The method: b is a signed byte, and u = b + 128 is from 0 to 255 and has the bits b ^ 128. P is a
// power of two whose last mantissa bit has the value 1: 2^23 in f32, 2^10 in f16. Writing u to the low bits
// of P gives the number P + u. Subtracting P + 128 from it gives b exactly.
// Requires: the macro SM, the qualifiers of a device function.


// Returns a word of four selected bytes (the PTX instruction prmt). The bytes of x have the numbers 0 to 3,
// and those of y have 4 to 7. The four low hexadecimal digits of `bytes` are the numbers of the selected
// bytes; the last digit is for the lowest byte.
SM unsigned pick(unsigned x, unsigned y, unsigned bytes) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(bytes));
  return picked;
}
// Converts the four bytes of `from`, from the lowest to the highest, to four elements: two in to[0], then
// two in to[1], with the first of each two in the low half. Each f32 result is a small integer, so its
// upper 16 bits represent it exactly.
SM void widen_bf16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
  unsigned wide[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    wide[i] = __float_as_uint(__uint_as_float(pick(flipped, 0x4B000000u, 0x7650 + i)) - 8388736.0f);
  to[0] = pick(wide[0], wide[1], 0x7632), to[1] = pick(wide[2], wide[3], 0x7632);
}
// Does the same for the other 16-bit type. One instruction subtracts from two elements.
SM void widen_f16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("sub.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(pick(flipped, 0x64646464u, i ? 0x4342 : 0x4140)), "r"(0x64806480u));
}
