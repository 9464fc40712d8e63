// Signed bytes as 16-bit floats, exactly; tests on a host replace them.
// A byte b is u - 128 with u = b ^ 128. The low bits of a number whose last bit has the value 1 are set to u; this makes a
// whole number, from which an exact subtraction takes the offset.
// Requires: SM.


SM unsigned pick(unsigned x, unsigned y, unsigned bytes) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(bytes));
  return picked;
}
SM void widen_bf16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
  unsigned wide[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    wide[i] = __float_as_uint(__uint_as_float(pick(flipped, 0x4B000000u, 0x7650 + i)) - 8388736.0f);
  to[0] = pick(wide[0], wide[1], 0x7632), to[1] = pick(wide[2], wide[3], 0x7632);
}
SM void widen_f16(unsigned (&to)[2], unsigned from) {
  const unsigned flipped = from ^ 0x80808080u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("sub.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(pick(flipped, 0x64646464u, i ? 0x4342 : 0x4140)), "r"(0x64806480u));
}
