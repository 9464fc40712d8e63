// Codes of 8 bits as elements of 16 bits, for decode attention on tensor cores. All numbers of the codes are
// elements, so nothing is rounded.
// Requires: instructions.cuh (the functions of pairs), and the constants kHasCodes and kIntegerCodes.


// Returns four of the bytes of `low` (0 to 3) and `high` (4 to 7): digit i of `digits` says which is byte i.
SM unsigned bytes_of(unsigned low, unsigned high, unsigned digits) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, digits);
#else
  unsigned word = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned byte = digits >> 4 * i & 7;
    word |= ((byte < 4 ? low >> 8 * byte : high >> 8 * (byte - 4)) & 0xFFu) << 8 * i;
  }
  return word;
#endif
}

// Returns the numbers of the codes in bits 0 to 7 and 16 to 23; the other bits are not looked at. kIntegerCodes:
// the codes are i8. A bf16 from 128 to 255 has 7 bits for the code, so the sign is added as -128 or -256. An
// f16 from 1024 to 2047 has bits for all 8.
// Otherwise the codes are e4m3: the exponent is moved to its place, and its bias is multiplied away. NaN, which
// caches do not have, becomes 480.
SM unsigned two_numbers(unsigned codes) {
  constexpr bool kBf16 = MMA_TYPE[0] == 'b';
  if (kIntegerCodes && kBf16)
    return add_pairs((codes & 0x007F007Fu) | 0x43004300u, (codes & 0x00800080u) | 0xC300C300u);
  if (kIntegerCodes) return add_pairs(((codes & 0x00FF00FFu) ^ 0x00800080u) | 0x64006400u, 0xE480E480u);
  const unsigned sign = codes << 8 & 0x80008000u;
  if (kBf16) return multiply_pairs((codes << 4 & 0x07F007F0u) | sign, 0x7B807B80u);  // 2^120
  return multiply_pairs((codes << 7 & 0x3F803F80u) | sign, 0x5C005C00u);             // 2^8
}
