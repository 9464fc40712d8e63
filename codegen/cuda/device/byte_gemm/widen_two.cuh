// Exact conversion of two signed bytes to two 16-bit floats, in one word: the lower byte in its low half.
// widen_two_bf16: a byte is b = l - h, where l are its low 7 bits, and h is 128 if its sign bit is set and
// 0 otherwise. The bf16 number 128 has 7 bits after its leading one, so 128 + l has the bits of 128 with l
// written to them, and 128 + h has the bits of 128 with the byte's upper bit. Their difference is b.
// widen_two_f16: as in ../small_m_gemm/widen_bytes.cuh.
// Requires: the macro SM (the qualifiers of a device function).


// Puts a byte of `upper` above each of the two bytes.
SM unsigned spread(unsigned two, unsigned upper) {
  unsigned word;
  asm("prmt.b32 %0, %1, %2, 0x4140;" : "=r"(word) : "r"(two), "r"(upper));
  return word;
}
SM unsigned widen_two_bf16(unsigned two) {
  const unsigned word = spread(two, 0x43434343u);
  unsigned both;
  asm("sub.bf16x2 %0, %1, %2;" : "=r"(both) : "r"(word & 0xFF7FFF7Fu), "r"(word & 0xFF80FF80u));
  return both;
}
SM unsigned widen_two_f16(unsigned two) {
  unsigned both;
  asm("sub.f16x2 %0, %1, %2;" : "=r"(both) : "r"(spread(two ^ 0x8080u, 0x64646464u)), "r"(0x64806480u));
  return both;
}
