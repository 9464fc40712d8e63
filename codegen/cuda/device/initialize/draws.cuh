// Random initial values of states. A state is an array that the runtime keeps between runs of a plan, such
// as a weight. A thread calls the functions draw_... for four elements. The struct Row describes a segment
// of a state.
// The functions round in the same places as runtime/engine/weights/draws.cpp, so a CPU and a GPU draw the
// same bits. The intrinsics __dmul_rn and __dadd_rn prevent the compiler from contracting operations on
// doubles to fused multiply-adds.
// Requires: nothing. Order of the text: draws, store_f32 or store_bf16, kernel.

__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }
// Returns (bits + 1/2) / 2^32, which is greater than 0 and less than 1.
__device__ __forceinline__ double unit(unsigned bits) { return times(plus((double)bits, 0.5), 0x1p-32); }

// Returns log u for u in (0, 1) as e log 2 + log m, where u = 2^e m and m is in [sqrt(1/2), sqrt(2)]. log m
// is 2 artanh(s) with s = (m - 1) / (m + 1), computed by a series. log 2 is the sum of two constants, for
// accuracy.
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

// Computes sine and cosine of an angle in (0, 2 pi). r is the difference between the angle and the nearest
// multiple of pi / 2, and Taylor series give the sine and the cosine of r. The addition of 1.5 * 2^52
// rounds angle / (pi / 2) to an integer, which is then in the low bits of `shifted`.
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

// Computes four random words, one for each of the elements 4 * group to 4 * group + 3 of a segment:
// Philox4x32-7 with the key (seed, id). Writes them to c[0], ..., c[3].
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

// Converts four random words to four normally distributed numbers with mean 0 and standard deviation
// `scale`, by the Box-Muller method. Writes them to x[0], ..., x[3].
__device__ __forceinline__ void draw_normal(const unsigned* words, double scale, float* x) {
  // Divisions and square roots are function calls, so they come first, when few values are live.
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

// Converts four random words to four numbers that are uniform in (-scale, scale). Writes them to x[0], ...,
// x[3].
__device__ __forceinline__ void draw_uniform(const unsigned* words, double scale, float* x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = (float)times(scale, plus(times(2, unit(words[i])), -1));
}

// Describes a segment of a state. The host writes an array of these structs (InitialRow in
// runtime/engine/weights/initialize.h). A group is the four elements of one call of draw_words.
//   first_group       number of groups in the segments before this one in the array
//   offset, elements  index in the state of the segment's first element; number of elements
//   scale             kind 0: the value of all elements; 1: standard deviation; 2: bound of the numbers
//   seed, id          key of Philox
//   kind              0: a constant, 1: normally distributed numbers, 2: uniform numbers
//   reserved          always 0
struct Row {
  long long first_group, offset, elements;
  double scale;
  unsigned seed, id; 
  int kind, reserved;
};
