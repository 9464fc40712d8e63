// Integer weights of tokens, random draws, and thresholds of top-p and min-p. The functions return the same
// bits as those of runtime/sampling/token_weights.h. A word is a token of the vocabulary, and a weight is
// its unnormalized probability, in units of 2^-40.
// Requires: nothing. The function sample_kernel (codegen/cuda/sample_kernel.cpp) puts the files of a kernel
// in order.

typedef unsigned long long Mass;            // a sum of at most 2^23 weights
constexpr Mass kWholeWeight = 1ull << 40;  // the weight of a word with the largest score of its row

// Returns floor(2^40 e^d) for d <= 0, approximately; 0 if d <= -28 or d is NaN. d is the difference between
// a score and the largest score, divided by the temperature. The code writes d as k log(2) + r, and
// computes e^r as a polynomial. Each operation is rounded as IEEE 754 defines, so a CPU gets the same
// integer.
__device__ __forceinline__ Mass weight_of(float d) {
  if (!(d > -28.0f)) return 0;
  const float k = __fadd_rn(__fmaf_rn(d, 1.44269504f, 12582912.0f), -12582912.0f);
  const float r = __fmaf_rn(k, 2.12194440e-4f, __fmaf_rn(k, -0.693359375f, d));
  float p = __fmaf_rn(1.9875691500e-4f, r, 1.3981999507e-3f);
  p = __fmaf_rn(p, r, 8.3334519073e-3f);
  p = __fmaf_rn(p, r, 4.1665795894e-2f);
  p = __fmaf_rn(p, r, 1.6666665459e-1f);
  p = __fmaf_rn(p, r, 5.0000001201e-1f);
  p = __fadd_rn(__fmaf_rn(p, __fmul_rn(r, r), r), 1.0f);
  return (Mass)__fmul_rn(p, __uint_as_float((unsigned)((int)k + 127 + 40) << 23));
}

// Returns a random number in [0, mass): floor(mass * bits / 2^53), where `bits` are 53 bits of
// Philox4x32-7. The numbers depend on the seed, on the position of the token in its sequence, and on the
// index of the sequence.
__device__ __forceinline__ Mass drawn_part(Mass mass, unsigned seed, unsigned position, unsigned index) {
  unsigned c0 = position, c1 = 0, c2 = index, c3 = 0, k0 = seed, k1 = 0x53414D50u;
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const unsigned high2 = __umulhi(0xCD9E8D57u, c2), low2 = 0xCD9E8D57u * c2;
    c0 = high2 ^ c1 ^ k0, c1 = low2, c2 = high0 ^ c3 ^ k1, c3 = low0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  const Mass bits = ((Mass)c1 << 32 | c0) >> 11;
  return __umul64hi(mass, bits) << 11 | mass * bits >> 53;
}

// Returns the mass that the words kept by top-p must reach: top_p * mass, rounded up, but at least 1 and at
// most `mass`. `mass` is the mass of the words from which top-p selects.
__device__ __forceinline__ Mass nucleus_mass(Mass mass, float top_p) {
  const Mass wanted = (Mass)ceil(__dmul_rn((double)mass, (double)(top_p > 0.0f ? top_p : 0.0f)));
  return wanted < 1 ? 1 : wanted < mass ? wanted : mass;
}
// Returns the least weight that min-p keeps: min_p (at most 1) times the largest weight of the row, rounded
// up.
__device__ __forceinline__ Mass least_weight(float min_p) {
  return (Mass)ceil(__dmul_rn((double)(min_p < 1.0f ? min_p : 1.0f), 1099511627776.0));
}

