// Functions with instructions of PTX or intrinsics of CUDA: CUDA's text of pieces of
// codegen/printers/device/prelude/functions.cuh. Code without __CUDA_ARCH__ is for tests, which compile
// kernels for the host.
// A line with ==== begins a piece.
// Requires: the macro SM (the qualifiers of a device function).

// ==== sm_max
// Returns the larger number, or NaN if a or b is NaN.
SM float sm_max(float a, float b) {
#ifdef __CUDA_ARCH__
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a ? a : b != b ? b : a > b ? a : b;
#endif
}
SM int sm_max(int a, int b) { return a > b ? a : b; }
// ==== sm_min
// Returns the smaller number, or NaN if a or b is NaN.
SM float sm_min(float a, float b) {
#ifdef __CUDA_ARCH__
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a ? a : b != b ? b : a < b ? a : b;
#endif
}
SM int sm_min(int a, int b) { return a < b ? a : b; }
// ==== sm_exp2
// Returns 2^x with an error of up to 2 ulp. Results below the smallest normal number become 0.
SM float sm_exp2(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
// ==== sm_inverse
// Returns about 1 / x for a normal number x. If |x| is above 2^126, the result is 0.
SM float sm_inverse(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}
// ==== sm_fast_div
// Returns about a / b. If |b| is above 2^126, __fdividef is not exact: it returns 0, or NaN for an infinite
// a. So both numbers are then scaled down.
SM float sm_fast_div(float a, float b) {
  const float scale = fabsf(b) > 8.5e37f ? 0.0625f : 1.0f;
  return __fdividef(a * scale, b * scale);
}
// ==== sm_combine_max_sumexp

// Combines two states of a log-sum-exp, (m, s) and (m2, s2), into m and s. m is the maximum of some elements
// x, and s is the sum of exp(x - m). If the maximum is infinite, s is the sum of exp(x) instead. The
// __f..._rn intrinsics forbid fused multiply-adds, with which the result would depend on the order of the
// states.
template <bool fast>
SM void sm_combine_max_sumexp(float& m, float& s, float m2, float s2) {
  const float top = sm_max(m, m2), base = fabsf(top) == sm_infinity() ? 0.0f : top;
  s = __fadd_rn(__fmul_rn(s, sm_exp<fast>(m - base)), __fmul_rn(s2, sm_exp<fast>(__fsub_rn(m2, base))));
  m = top;
}
// ==== sm_combine_lanes_max_sumexp

// Combines the log-sum-exp states (m, s) of W lanes (a power of two), and gives the result to all of them.
// The maximum of all lanes is computed first, so that each sum is scaled once. All lanes of `mask` call it.
template <bool fast, int W>
SM void sm_combine_lanes_max_sumexp(float& m, float& s, unsigned mask) {
  float top = m;
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) top = sm_max(top, __shfl_xor_sync(mask, top, d));
  const float base = fabsf(top) == sm_infinity() ? 0.0f : top;
  s *= sm_exp<fast>(m - base);
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) s += __shfl_xor_sync(mask, s, d);
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
  for (int i = 0; i < V; ++i) sum += sm_exp<fast>(__fsub_rn(x[i], base));
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
  for (int i = 0; i < K * V; ++i) s += x[i / V][i % V] = sm_exp<fast>(__fsub_rn(x[i / V][i % V], base));
  return base;
}
