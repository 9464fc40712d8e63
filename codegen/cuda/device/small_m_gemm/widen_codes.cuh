// Exact conversion of packed codes (runtime/base/packed_format.h) to pairs of 16-bit floats, bf16 or f16, and
// their products with a scale. A function widen_FORMAT_TYPE converts
// the codes of one word to numbers, in the order of the elements, two per word of `to`.
// A code becomes a float by its bits: P is a power of two whose last mantissa bit has the value 1 (2^7 in
// bf16, 2^10 in f16), so writing a code u of four bits to the low bits of P gives the number P + u.
// Requires: pairs.cuh.


// Returns the product of each half with that of `scale`. -0 is added, so that products of 0 keep their signs.
SM unsigned scale_two_bf16(unsigned x, unsigned scale) { return fma_two_bf16(x, scale, 0x80008000u); }
SM unsigned scale_two_f16(unsigned x, unsigned scale) { return fma_two_f16(x, scale, 0x80008000u); }
// Returns x - zero in each half. Both are integers of at most eight bits and a sign, so this is exact.
SM unsigned less_two_bf16(unsigned x, int zero) {
  const unsigned bits = __float_as_uint((float)-zero);
  return fma_two_bf16(x, 0x3F803F80u, bits >> 16 | (bits & 0xFFFF0000u));
}
SM unsigned less_two_f16(unsigned x, int zero) {
  const unsigned half = half_of((float)-zero);
  return fma_two_f16(x, 0x3C003C00u, half | half << 16);
}
// Codes of four bits: number = code - 8.
SM void widen_int4_bf16(unsigned (&to)[4], unsigned word) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = fma_two_bf16(mask_or(word >> 4 * i, 0x000F000Fu, 0x43004300u), 0x3F803F80u, 0xC308C308u);
}
SM void widen_int4_f16(unsigned (&to)[4], unsigned word) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = fma_two_f16(mask_or(word >> 4 * i, 0x000F000Fu, 0x64006400u), 0x3C003C00u, 0xE408E408u);
}

// Signed bytes: u = byte + 128 has the bits of the byte ^ 128, and P is 2^23 in f32.
SM void widen_int8_bf16(unsigned (&to)[2], unsigned word) {
  const unsigned flipped = word ^ 0x80808080u;
  unsigned wide[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    wide[i] = __float_as_uint(__uint_as_float(pick_bytes(flipped, 0x4B000000u, 0x7650 + i)) - 8388736.0f);
  to[0] = pick_bytes(wide[0], wide[1], 0x7632), to[1] = pick_bytes(wide[2], wide[3], 0x7632);
}
SM void widen_int8_f16(unsigned (&to)[2], unsigned word) {
  const unsigned flipped = word ^ 0x80808080u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    to[i] = fma_two_f16(pick_bytes(flipped, 0x64646464u, i == 0 ? 0x4140 : 0x4342), 0x3C003C00u, 0xE480E480u);
}

// e4m3: its bits are those of a 16-bit float whose exponent is too small by the difference of the biases, 120
// in bf16 and 8 in f16.
SM void widen_fp8_bf16(unsigned (&to)[2], unsigned word) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned high = pick_bytes(word, 0, i == 0 ? 0x1404 : 0x3424);  // the bytes as upper halves of 16 bits
    to[i] = fma_two_bf16((high & 0x80008000u) | (high >> 4 & 0x07F007F0u), 0x7B807B80u, 0x80008000u);
  }
}
SM void widen_fp8_f16(unsigned (&to)[2], unsigned word) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned high = pick_bytes(word, 0, i == 0 ? 0x1404 : 0x3424);
    to[i] = fma_two_f16((high & 0x80008000u) | (high >> 1 & 0x3F803F80u), 0x5C005C00u, 0x80008000u);
  }
}
