// Functions of numbers and functions that combine two states of a reduction: HIP's text of pieces of
// codegen/printers/device/prelude/functions.cuh, and conversions. Compilers of HIP contract a * b + c to a
// fused multiply-add, also through the intrinsics that round each operation in CUDA (__fsub_rn); the pragma
// forbids it.
// A line with ==== begins a piece.
// Requires: the macro SM (the qualifiers of a device function).

// ==== sm_to_int32

// Returns x rounded toward zero; the nearest int if that is out of range, and 0 for NaN.
SM int sm_to_int32(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int)x;
}
// ==== sm_to_int64

// Returns x rounded toward zero; the nearest number of 64 bits if that is out of range, and the smallest for
// NaN.
SM long long sm_to_int64(float x) {
  if (!(x >= -9223372036854775808.0f)) return -9223372036854775807ll - 1;
  return x >= 9223372036854775808.0f ? 9223372036854775807ll : (long long)x;
}
// ==== sm_difference

// Returns a - b, rounded: never a part of a fused multiply-add.
SM float sm_difference(float a, float b) {
#pragma clang fp contract(off)
  return a - b;
}
// ==== sm_max
// Returns the larger number, or NaN if a or b is NaN.
SM float sm_max(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
SM int sm_max(int a, int b) { return a > b ? a : b; }
// ==== sm_min
// Returns the smaller number, or NaN if a or b is NaN.
SM float sm_min(float a, float b) { return a != a ? a : b != b ? b : a < b ? a : b; }
SM int sm_min(int a, int b) { return a < b ? a : b; }
// ==== sm_exp2
// Returns 2^x with an error of up to 2 ulp.
SM float sm_exp2(float x) { return exp2f(x); }
// ==== sm_inverse
// Returns about 1 / x for a normal number x. If |x| is above 2^126, the result may be 0.
SM float sm_inverse(float x) {
#ifdef __HIP_DEVICE_COMPILE__
  return __builtin_amdgcn_rcpf(x);
#else
  return 1.0f / x;
#endif
}
// ==== sm_fast_div
// Returns a / b. An approximate inverse would be infinite for a subnormal b.
SM float sm_fast_div(float a, float b) { return a / b; }
// ==== sm_combine_max_sumexp

// Combines two states of a log-sum-exp, (m, s) and (m2, s2), into m and s. m is the maximum of some elements
// x, and s is the sum of exp(x - m). If the maximum is infinite, s is the sum of exp(x) instead. With fused
// multiply-adds the result would depend on the order of the states.
template <bool fast>
SM void sm_combine_max_sumexp(float& m, float& s, float m2, float s2) {
#pragma clang fp contract(off)
  const float top = sm_max(m, m2), base = fabsf(top) == sm_infinity() ? 0.0f : top;
  s = s * sm_exp<fast>(m - base) + s2 * sm_exp<fast>(m2 - base);
  m = top;
}
// ==== sm_shuffle_xor

// Returns the value of another lane of the 32 around this one: of the lane whose number differs from this
// lane's in the bits of `distance`. All lanes of `mask`, numbered from the first of the 32, call it.
template <typename T>
SM T sm_shuffle_xor(unsigned mask, T value, int distance) {
#ifdef __HIP_DEVICE_COMPILE__
  return __shfl_xor(value, distance, 32);
#else
  return host_shuffle(mask, value, threadIdx.x % 32 ^ (unsigned)distance);
#endif
}
// ==== sm_combine_lanes_max_sumexp

// Combines the log-sum-exp states (m, s) of W lanes (a power of two), and gives the result to all of them.
// The maximum of all lanes is computed first, so that each sum is scaled once. All lanes of `mask` call it.
template <bool fast, int W>
SM void sm_combine_lanes_max_sumexp(float& m, float& s, unsigned mask) {
  float top = m;
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) top = sm_max(top, sm_shuffle_xor(mask, top, d));
  const float base = fabsf(top) == sm_infinity() ? 0.0f : top;
  s *= sm_exp<fast>(m - base);
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) s += sm_shuffle_xor(mask, s, d);
  m = top;
}
// ==== sm_combine_vector_max_sumexp

// Adds the V elements x to a log-sum-exp state (m, s). If an element is NaN, fmaxf ignores it, but s becomes
// NaN.
template <bool fast, int V>
SM void sm_combine_vector_max_sumexp(float& m, float& s, const float (&x)[V]) {
  float top = m, sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) top = fmaxf(top, x[i]);
  const float base = fabsf(top) == sm_infinity() ? 0.0f : top;
#pragma unroll
  for (int i = 0; i < V; ++i) sum += sm_exp<fast>(sm_difference(x[i], base));
  s = s * sm_exp<fast>(m - base) + sum;
  m = top;
}
// ==== sm_sum_exponentials

// Computes the log-sum-exp state (m, s) of all K * V elements of a thread, and replaces each element x by
// exp(x - base). Returns `base`, which is the largest element, or 0 if that is infinite.
template <bool fast, int K, int V>
SM float sm_sum_exponentials(float& m, float& s, float (&x)[K][V]) {
  m = -sm_infinity(), s = 0;
#pragma unroll
  for (int i = 0; i < K * V; ++i) m = fmaxf(m, x[i / V][i % V]);
  const float base = fabsf(m) == sm_infinity() ? 0.0f : m;
#pragma unroll
  for (int i = 0; i < K * V; ++i) s += x[i / V][i % V] = sm_exp<fast>(sm_difference(x[i / V][i % V], base));
  return base;
}
