// Random initial values of states, which are arrays that the runtime keeps between runs of a plan, such as
// weights: functions that each thread calls for four elements, and the struct that describes a segment of a
// state. All operations on doubles that round are those of runtime/engine/weights/draws.cpp, in the same
// order, so that a CPU and a GPU draw the same bits. The intrinsics __dmul_rn and __dadd_rn keep the compiler
// from contracting operations to fused multiply-adds.
// Requires: nothing. Order of the text: draws, store_f32 or store_bf16, kernel.

__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }
// Returns (bits + 1/2) 2^-32, a number between 0 and 1 that is neither of them.
__device__ __forceinline__ double unit(unsigned bits) { return times(plus((double)bits, 0.5), 0x1p-32); }

// Returns log u for u in (0, 1): u = 2^e m with m in [sqrt(1/2), sqrt(2)], and log m = 2 artanh(s), where
// s = (m - 1) / (m + 1). p is the series of artanh after its first term. log 2 is added in two parts.
__device__ __forceinline__ double log_of(double u) {
  const unsigned long long bits = (unsigned long long)__double_as_longlong(u);
  double e = (double)(int)(bits >> 52) - 1023;
  double m = __longlong_as_double((long long)((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull));
  if (m > 0x1.6a09e667f3bcdp0) m = times(0.5, m), e = plus(e, 1);
  const double s = __ddiv_rn(plus(m, -1), plus(m, 1)), z = times(s, s);
  double p = 1.0 / 21;
#pragma unroll
  for (int k = 19; k >= 3; k -= 2) p = plus(times(p, z), 1.0 / k);
  const double low = plus(times(times(times(2, s), z), p), times(e, 0x1.A39EF35793C76p-33));
  return plus(times(e, 0x1.62E42FEE00000p-1), plus(times(2, s), low));
}

// Computes sine and cosine of an angle in (0, 2 pi) by Taylor series of the distance r from the nearest
// multiple of pi / 2. Adding 1.5 * 2^52 rounds to an integer, which is then in the low bits.
__device__ __forceinline__ void sine_and_cosine(double angle, double& sine, double& cosine) {
  const double shifted = plus(times(angle, 0x1.45f306dc9c883p-1), 0x1.8p52), quarter = plus(shifted, -0x1.8p52);
  const unsigned quadrant = (unsigned)__double_as_longlong(shifted);
  const double r = plus(plus(angle, -times(quarter, 0x1.921FB54400000p0)), -times(quarter, 0x1.0B4611A626331p-34));
  const double z = times(r, r);
  double s = 1, c = 1;
#pragma unroll
  for (int k = 17; k >= 3; k -= 2) s = plus(1, -times(times(s, z), 1.0 / (k * (k - 1))));
#pragma unroll
  for (int k = 18; k >= 2; k -= 2) c = plus(1, -times(times(c, z), 1.0 / (k * (k - 1))));
  s = times(s, r);
  const double a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;
  sine = quadrant & 2 ? -a : a;
  cosine = (quadrant + 1) & 2 ? -b : b;
}

// Writes the four random words of elements 4 * group ... + 3 to c: Philox4x32-7 with the key (seed, id).
__device__ __forceinline__ void draw_words(unsigned seed, unsigned id, long long group, unsigned* c) {
  c[0] = 0xFFFFFFFFu, c[1] = 0, c[2] = (unsigned)(group >> 24), c[3] = (unsigned)(group & 0xFFFFFF);
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned low0 = 0xD2511F53u * c[0], high0 = __umulhi(0xD2511F53u, c[0]);
    const unsigned low1 = 0xCD9E8D57u * c[2], high1 = __umulhi(0xCD9E8D57u, c[2]);
    c[0] = high1 ^ c[1] ^ seed, c[2] = high0 ^ c[3] ^ id;
    c[1] = low1, c[3] = low0;
    seed += 0x9E3779B9u, id += 0xBB67AE85u;
  }
}

// Writes four normally distributed numbers with standard deviation `scale` to x, by the Box-Muller method.
__device__ __forceinline__ void draw_normal(const unsigned* words, double scale, float* x) {
  // The radii come first, because divisions and roots are calls, over which few values should be live.
  double radius[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) radius[i] = times(scale, __dsqrt_rn(times(-2, log_of(unit(words[2 * i])))));
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    double sine, cosine;
    sine_and_cosine(times(0x1.921fb54442d18p2, unit(words[2 * i + 1])), sine, cosine);
    x[2 * i] = (float)times(radius[i], cosine), x[2 * i + 1] = (float)times(radius[i], sine);
  }
}

// Writes four numbers that are uniform in (-scale, scale) to x.
__device__ __forceinline__ void draw_uniform(const unsigned* words, double scale, float* x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = (float)times(scale, plus(times(2, unit(words[i])), -1));
}

// A segment of a state, as the host describes it (InitialRow in runtime/engine/weights/initialize.h). A group
// is four elements, those of one call of draw_words.
struct Row {
  long long first_group, offset, elements;  // groups in the rows before; first element and size in the state
  double scale;                             // standard deviation, bound of the uniform numbers, or the value
  unsigned seed, id;                        // key of Philox
  int kind, reserved;                       // 0: all elements are `scale`, 1: normal, 2: uniform; always 0
};
