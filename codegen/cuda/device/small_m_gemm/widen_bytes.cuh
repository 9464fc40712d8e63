// Exact conversion of signed bytes to 16-bit floats, bf16 or f16. Tests that run on a CPU replace this file. A
// byte b is u - 128, where u = b ^ 128 is not negative. Let P be the power of two whose least significant bit
// has the value 1: 2^23 in f32, 2^10 in f16. Writing u to the low bits of P gives P + u, and subtracting
// P + 128 from that gives b exactly.
// Requires: the macro SM, the qualifiers of a device function.


// Returns four of the bytes of x (numbers 0 to 3) and y (4 to 7): the hexadecimal digits of `bytes` are their
// numbers, the lowest byte last.
SM unsigned pick(unsigned x, unsigned y, unsigned bytes) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(bytes));
  return picked;
}
// Converts the four bytes of `from`, in order, the first to the low half of to[0]. The upper half of an f32
// holds such a small integer exactly.
SM void widen_bf16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
  unsigned wide[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    wide[i] = __float_as_uint(__uint_as_float(pick(flipped, 0x4B000000u, 0x7650 + i)) - 8388736.0f);
  to[0] = pick(wide[0], wide[1], 0x7632), to[1] = pick(wide[2], wide[3], 0x7632);
}
// Does the same for the other type, with two bytes per subtraction.
SM void widen_f16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("sub.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(pick(flipped, 0x64646464u, i ? 0x4342 : 0x4140)), "r"(0x64806480u));
}
