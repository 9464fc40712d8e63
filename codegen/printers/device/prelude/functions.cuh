// Functions of numbers, draws of random numbers, and functions that combine two states of a reduction. A
// thread calls each of them for its own numbers; sm_combine_lanes_max_sumexp also exchanges numbers between
// lanes. Arithmetic on signed integers (sm_add, sm_wide_add, ...) wraps around; it is done on unsigned
// integers, because signed overflow is undefined in C++. sm_wide_... are for 64-bit integers. Functions
// that combine two states give the same bits if the states are exchanged.
// A line with ==== begins a piece, and a piece without text is defined by a file of the language
// (memory.cuh).
// Requires: pieces of memory.cuh, and the macro SM (the qualifiers of a device function). This is the
// second file of the prelude.

// ==== sm_infinity
SM float sm_infinity() { return __uint_as_float(0x7F800000u); }
// ==== sm_max
// ==== sm_min
// ==== sm_sign
// Returns -1, 0 or 1. If a is NaN or a zero of either sign, returns a.
SM float sm_sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
SM int sm_sign(int a) { return (a > 0) - (a < 0); }
// ==== sm_sigmoid
// Returns 1 / (1 + e^-a). The argument of expf is never positive, so nothing overflows.
SM float sm_sigmoid(float a) {
  const float e = expf(-fabsf(a));
  return (a < 0 ? e : 1.0f) / (1.0f + e);
}
// ==== sm_exp2
// ==== sm_inverse
// ==== sm_fast_div
// ==== sm_fast_exp
// Returns about e^x.
SM float sm_fast_exp(float x) { return sm_exp2(x * 1.44269504f); }
// ==== sm_exp
// Returns e^x. fast: computes it less exactly, which is enough if the result is then rounded to 16 bits.
template <bool fast>
SM float sm_exp(float x) { return fast ? sm_fast_exp(x) : expf(x); }
// ==== sm_fast_tanh
// Returns about tanh(a), as 1 - 2 / (e^(2 a) + 1).
SM float sm_fast_tanh(float a) {
  return fmaf(-2.0f, sm_inverse(sm_exp2(a * 2.88539008f) + 1.0f), 1.0f);
}
// ==== sm_fast_sigmoid
// Returns about 1 / (1 + e^-a).
SM float sm_fast_sigmoid(float a) { return sm_inverse(1.0f + sm_exp2(a * -1.44269504f)); }
// ==== sm_fast_erf
// Returns erf(a) with an error of up to 7e-7. With x = |a|, the result is 1 - 2^-(p * x) with the sign of a.
// p * x is a polynomial of x that approximates -log2(erfc(x)).
SM float sm_fast_erf(float a) {
  const float x = fabsf(a);
  const float p = fmaf(fmaf(fmaf(fmaf(2.95126e-3f, x, -2.961544e-2f), x, 0.14869327f), x, 0.91849929f), x, 1.62788979f);
  return copysignf(1.0f - sm_exp2(-(p * x)), a);
}
// ==== sm_tangent
// y is the computed value at a of an odd function whose derivative at 0 is `slope`. Returns y, or slope * a
// if |a| < 2^-7. For such small a, y has few correct digits, because it was computed as a difference of
// numbers near 1.
SM float sm_tangent(float a, float slope, float y) { return fabsf(a) < 0.0078125f ? slope * a : y; }
// ==== sm_div
// Returns a / b, rounded toward zero. If b is 0 or the quotient overflows, returns a.
SM int sm_div(int a, int b) { return b == 0 || (b == -1 && a == -2147483647 - 1) ? a : a / b; }
// ==== sm_add
SM int sm_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
// ==== sm_sub
SM int sm_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
// ==== sm_mul
SM int sm_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
// ==== sm_neg
SM int sm_neg(int a) { return (int)(0u - (unsigned)a); }
// ==== sm_abs
SM int sm_abs(int a) { return a < 0 ? sm_neg(a) : a; }
// ==== sm_wide_max
SM long long sm_wide_max(long long a, long long b) { return a > b ? a : b; }
// ==== sm_wide_min
SM long long sm_wide_min(long long a, long long b) { return a < b ? a : b; }
// ==== sm_wide_sign
SM long long sm_wide_sign(long long a) { return (a > 0) - (a < 0); }
// ==== sm_wide_div
// Returns a / b, rounded toward zero. If b is 0 or the quotient overflows, returns a.
SM long long sm_wide_div(long long a, long long b) {
  return b == 0 || (b == -1 && a == -9223372036854775807ll - 1) ? a : a / b;
}
// ==== sm_wide_add
SM long long sm_wide_add(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}
// ==== sm_wide_sub
SM long long sm_wide_sub(long long a, long long b) {
  return (long long)((unsigned long long)a - (unsigned long long)b);
}
// ==== sm_wide_mul
SM long long sm_wide_mul(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
}
// ==== sm_wide_neg
SM long long sm_wide_neg(long long a) { return (long long)(0ull - (unsigned long long)a); }
// ==== sm_wide_abs
SM long long sm_wide_abs(long long a) { return a < 0 ? sm_wide_neg(a) : a; }
// ==== sm_sine

// Returns x * part minus the nearest integer. part: one of seven terms that add up to 1 / (2 pi). The result
// is exact, because x has 24 significant bits, and a term has at most 28.
SM double sm_turns(double x, double part) { return x * part - rint(x * part); }
// Returns sin(x + quarters * pi / 2). `turns` is the integer nearest to x / (pi / 2), and `rest` is x minus
// turns * pi / 2. The result is a polynomial of `rest`. Adding 1.5 * 2^52 (6755399441055744) to a number
// rounds it to an integer, which is then in the low bits of the sum.
SM float sm_sine(float x, int quarters) {
  double shifted = fma((double)x, 0.63661977236758134, 6755399441055744.0);
  const double turns = shifted - 6755399441055744.0;
  float rest = (float)fma(turns, -6.1232339957367660e-17, fma(turns, -1.5707963267948966, (double)x));
  if (fabsf(x) > 1e9f) {  // sum: x / (2 pi) minus an integer
    const double sum = sm_turns(x, 1.7634897189248905e-52) + sm_turns(x, 3.8770419007437455e-43) +
                       sm_turns(x, 4.1707168783816406e-35) + sm_turns(x, 1.9241762118391763e-26) +
                       sm_turns(x, 4.038449450981451e-18) + sm_turns(x, 2.6953480142255515e-09) +
                       sm_turns(x, 0.15915494039654732);
    shifted = 4.0 * sum + 6755399441055744.0;
    rest = (float)((4.0 * sum - (shifted - 6755399441055744.0)) * 1.5707963267948966);
  }
  const float r = fabsf(rest) > 0.8f ? 0.0f : rest, t = r * r;
  const int turn = __double2loint(shifted) + quarters;
  const float sine = fmaf(r * t, fmaf(fmaf(-1.9517233e-4f, t, 8.332178e-3f), t, -0.16666655f), r);
  const float cosine =
      fmaf(fmaf(fmaf(fmaf(2.4438434e-5f, t, -1.3887367e-3f), t, 4.1666646e-2f), t, -0.5f), t, 1.0f);
  const float y = (turn & 1) != 0 ? cosine : sine;
  return (turn & 2) != 0 ? -y : y;
}
// ==== sm_sin
SM float sm_sin(float x) { return sm_sine(x, 0); }
// ==== sm_cos
SM float sm_cos(float x) { return sm_sine(x, 1); }
// ==== sm_philox

// Draws random numbers for dropout by Philox4x32-7 (runtime/base/philox.h). c gets eight 16-bit numbers, for
// columns 8 * group to 8 * group + 7 of row `row`. A word of c has two of them, and the even column is in
// its low half. random: the numbers {seed, step, micro-step}. id: number of the random sequence.
SM void sm_philox(unsigned (&c)[4], const unsigned* random, unsigned id, unsigned row, unsigned group) {
  unsigned k0 = random[0], k1 = id;
  c[0] = random[1], c[1] = random[2], c[2] = row, c[3] = group;
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c[0] = (unsigned)(p1 >> 32) ^ c[1] ^ k0, c[2] = (unsigned)(p0 >> 32) ^ c[3] ^ k1;
    c[1] = (unsigned)p1, c[3] = (unsigned)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
}
// ==== sm_random
// Returns the 16-bit random number of one row and column.
SM int sm_random(const unsigned* random, unsigned id, unsigned row, unsigned column) {
  unsigned words[4];
  sm_philox(words, random, id, row, column / 8);
  const unsigned which = column / 2 % 4;
  const unsigned word = which == 0 ? words[0] : which == 1 ? words[1] : which == 2 ? words[2] : words[3];
  return (int)(word >> column % 2 * 16 & 0xFFFFu);
}
// ==== sm_combine_max_sumexp
// ==== sm_combine_lanes_max_sumexp
// ==== sm_combine_vector_max_sumexp
// ==== sm_sum_exponentials
// ==== sm_combine_argmax

// Combines two states of an argmax, (x, i) and (x2, i2), into x and i. A state is an element and its index.
// Index -1 means that there is no element. A NaN is larger than all numbers. Of equal elements, the one with
// the smaller index is taken.
template <typename T>
SM void sm_combine_argmax(T& x, int& i, T x2, int i2) {
  const bool nan = x != x, nan2 = x2 != x2;
  const bool greater = x2 > x || (nan2 && !nan), equal = x2 == x || (nan2 && nan);
  if (i2 >= 0 && (i < 0 || greater || (equal && i2 < i))) x = x2, i = i2;
}
// ==== sm_combine_first

// Combines two states, (x, i) and (x2, i2), into x and i: the one with the smaller index is taken. A state
// is an element and its index. Index -1 means that there is no element.
template <typename T>
SM void sm_combine_first(T& x, int& i, T x2, int i2) {
  if (i2 >= 0 && (i < 0 || i2 < i)) x = x2, i = i2;
}
