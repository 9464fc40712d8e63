#include "codegen/cuda/prelude_text.h"

#include <array>

namespace smelt {
namespace {

// ---- elements in memory: sm_get reads one as float, int or bool, sm_put rounds one into its place
constexpr std::string_view kFloat = R"(SM float sm_get(float x) { return x; }
SM void sm_put(float& to, float x) { to = x; }
)";
constexpr std::string_view kDouble = R"(SM float sm_get(double x) { return (float)x; }
SM void sm_put(double& to, float x) { to = x; }
)";
constexpr std::string_view kInt = R"(SM int sm_get(int x) { return x; }
SM void sm_put(int& to, int x) { to = x; }
)";
constexpr std::string_view kI64 = R"(typedef long long i64;
SM int sm_get(i64 x) { return (int)x; }
SM void sm_put(i64& to, int x) { to = x; }
)";
constexpr std::string_view kU16 = R"(typedef unsigned short u16;
SM int sm_get(u16 x) { return x; }
SM void sm_put(u16& to, int x) { to = (u16)x; }
)";
constexpr std::string_view kU8 = R"(typedef unsigned char u8;
SM int sm_get(u8 x) { return x; }
SM void sm_put(u8& to, int x) { to = (u8)x; }
)";
constexpr std::string_view kFlag = R"(struct flag { unsigned char bits; };
SM bool sm_get(flag x) { return x.bits != 0; }
SM void sm_put(flag& to, bool x) { to.bits = x; }
)";
constexpr std::string_view kBf16 = R"(struct bf16 { unsigned short bits; };
SM float sm_get(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
SM void sm_put(bf16& to, float x) {
#ifdef __CUDA_ARCH__  // rounding two at once is faster than one
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(x));
  to.bits = (unsigned short)both;
#else
  const unsigned bits = __float_as_uint(x);
  to.bits = (unsigned short)(x != x ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
#endif
}
)";
constexpr std::string_view kF16 = R"(struct f16 { unsigned short bits; };
SM float sm_get(f16 x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  const unsigned magnitude = (x.bits & 0x7FFFu) << 13, sign = (x.bits & 0x8000u) << 16;
  const float scaled = __uint_as_float(magnitude) * 0x1p112f;
  return __uint_as_float((magnitude >= 0x7C00u << 13 ? magnitude | 0x7F800000u : __float_as_uint(scaled)) | sign);
#endif
}
SM void sm_put(f16& to, float x) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(x));
  to.bits = (unsigned short)both;
#else
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7FFFFFFFu;
  unsigned y = (magnitude + (magnitude >> 13 & 1) + 0xFFFu - (112u << 23)) >> 13;
  if (magnitude < 0x38800000u) y = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3F000000u;
  if (magnitude >= 0x47800000u) y = 0x7C00u;
  if (magnitude > 0x7F800000u) y = 0x7E00u;
  to.bits = (unsigned short)(y | (bits >> 16 & 0x8000u));
#endif
}
)";
constexpr std::string_view kRound = R"(
// x as an element of type T holds it.
template <typename T, typename C>
SM C sm_round(C x) {
  T element;
  sm_put(element, x);
  return sm_get(element);
}
)";
constexpr std::string_view kRoundRandom = R"(
// x or one of its two bf16 neighbours: 16 random bits are added below the cut. NaN stays NaN.
SM float sm_round_random(float x, int bits) {
  const unsigned sum = __float_as_uint(x) + ((unsigned)bits & 0xFFFFu);
  return x != x ? x : __uint_as_float(sum & 0xFFFF0000u);
}
)";
constexpr std::string_view kPack = R"(
template <typename T, int count>
struct alignas(sizeof(T) * count) Pack { T at[count]; };
)";
constexpr std::string_view kBring = R"(
// A vector as it lies in memory.
template <typename T, int V>
SM void sm_bring(T (&to)[V], const T* from) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
#pragma unroll
  for (int i = 0; i < V / P; ++i) ((Pack<T, P>*)to)[i] = ((const Pack<T, P>*)from)[i];
}
)";
constexpr std::string_view kLoad = R"(
// V elements, of which n exist (the others are 0): in accesses of up to 16 bytes where the place is aligned.
template <bool aligned, typename T, typename C, int V, typename N>
SM void sm_load(C (&to)[V], const T* from, N n) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
  if (aligned && n >= V) {
    Pack<T, P> packs[V / P];
#pragma unroll
    for (int i = 0; i < V / P; ++i) packs[i] = ((const Pack<T, P>*)from)[i];
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = sm_get(packs[i / P].at[i % P]);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) to[i] = i < n ? sm_get(from[i]) : C(0);
  }
}
)";
constexpr std::string_view kLoadEnd = R"(
template <int count, int at, typename T, typename C, int V>
SM void sm_load_piece(C (&to)[V], const T* from) {
  if constexpr (count > 0) {
    const Pack<T, count> pack = *(const Pack<T, count>*)(from + at);
#pragma unroll
    for (int i = 0; i < count; ++i) to[at + i] = sm_get(pack.at[i]);
  }
}

// The same where a last vector, of n < V elements, has R: in accesses of four, two and one.
template <bool aligned, int R, typename T, typename C, int V, typename N>
SM void sm_load_end(C (&to)[V], const T* from, N n) {
  if (!aligned || n >= V) return sm_load<aligned>(to, from, n);
#pragma unroll
  for (int i = R; i < V; ++i) to[i] = C(0);
  sm_load_piece<R & 4, 0>(to, from), sm_load_piece<R & 2, R & 4>(to, from), sm_load_piece<R & 1, R & 6>(to, from);
}
)";
constexpr std::string_view kStore = R"(
// The first n of V elements.
template <bool aligned, typename T, typename C, int V, typename N>
SM void sm_store(T* to, const C (&from)[V], N n) {
  constexpr int P = 16 / sizeof(T) < V ? 16 / sizeof(T) : V;
  if (aligned && n >= V) {
#pragma unroll
    for (int i = 0; i < V / P; ++i) {
      Pack<T, P> pack;
#pragma unroll
      for (int j = 0; j + 1 < P; j += 2) sm_put_pair(&pack.at[j], from[i * P + j], from[i * P + j + 1]);
      if (P == 1) sm_put(pack.at[0], from[i * P]);
      ((Pack<T, P>*)to)[i] = pack;
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (i < n) sm_put(to[i], from[i]);
  }
}
)";
constexpr std::string_view kStoreEnd = R"(
template <int count, int at, typename T, typename C, int V>
SM void sm_store_piece(T* to, const C (&from)[V]) {
  if constexpr (count == 1) sm_put(to[at], from[at]);
  if constexpr (count > 1) {
    Pack<T, count> pack;
#pragma unroll
    for (int i = 0; i < count; i += 2) sm_put_pair(&pack.at[i], from[at + i], from[at + i + 1]);
    *(Pack<T, count>*)(to + at) = pack;
  }
}

// The same where a last vector, of n < V elements, has R.
template <bool aligned, int R, typename T, typename C, int V, typename N>
SM void sm_store_end(T* to, const C (&from)[V], N n) {
  if (!aligned || n >= V) return sm_store<aligned>(to, from, n);
  sm_store_piece<R & 4, 0>(to, from), sm_store_piece<R & 2, R & 4>(to, from), sm_store_piece<R & 1, R & 6>(to, from);
}
)";

// ---- two at once, where one instruction rounds both
constexpr std::string_view kPair = R"(
template <typename T, typename C>
SM void sm_put_pair(T* to, C a, C b) { sm_put(to[0], a), sm_put(to[1], b); }
)";
constexpr std::string_view kPairBf16 = R"(SM void sm_put_pair(bf16* to, float a, float b) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  to[0].bits = (unsigned short)both, to[1].bits = (unsigned short)(both >> 16);
#else
  sm_put(to[0], a), sm_put(to[1], b);
#endif
}
)";
constexpr std::string_view kPairF16 = R"(SM void sm_put_pair(f16* to, float a, float b) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  to[0].bits = (unsigned short)both, to[1].bits = (unsigned short)(both >> 16);
#else
  sm_put(to[0], a), sm_put(to[1], b);
#endif
}
)";

// ---- scalar functions
constexpr std::string_view kInfinity = R"(SM float sm_infinity() { return __uint_as_float(0x7F800000u); }
)";
constexpr std::string_view kMax = R"(// NaN wins.
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
)";
constexpr std::string_view kMin = R"(// NaN wins.
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
)";
constexpr std::string_view kSign = R"(SM float sm_sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
SM int sm_sign(int a) { return (a > 0) - (a < 0); }
)";
constexpr std::string_view kSigmoid = R"(SM float sm_sigmoid(float a) {
  const float e = expf(-fabsf(a));
  return (a < 0 ? e : 1.0f) / (1.0f + e);
}
)";
constexpr std::string_view kExp2 = R"(// The GPU's own 2^x: 2 ulp off; what is below the normal numbers is 0.
SM float sm_exp2(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
)";
constexpr std::string_view kInverse = R"(// 1 / x, 0 above 2^126; of an x that is a normal number.
SM float sm_inverse(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}
)";
constexpr std::string_view kFastExp = R"(SM float sm_fast_exp(float x) { return sm_exp2(x * 1.44269504f); }
)";
constexpr std::string_view kExp = R"(// `fast`: a few roundings off, for what is stored in half the digits.
template <bool fast>
SM float sm_exp(float x) { return fast ? sm_fast_exp(x) : expf(x); }
)";
constexpr std::string_view kFastTanh =
    R"(SM float sm_fast_tanh(float a) {
  return fmaf(-2.0f, sm_inverse(sm_exp2(a * 2.88539008f) + 1.0f), 1.0f);
}
)";
constexpr std::string_view kFastSigmoid =
    R"(SM float sm_fast_sigmoid(float a) { return sm_inverse(1.0f + sm_exp2(a * -1.44269504f)); }
)";
constexpr std::string_view kFastErf =
    R"(// Within 7e-7: 1 - 2^-p of a polynomial p that is fitted to -log2 erfc(|a|).
SM float sm_fast_erf(float a) {
  const float x = fabsf(a);
  const float p = fmaf(fmaf(fmaf(fmaf(2.95126e-3f, x, -2.961544e-2f), x, 0.14869327f), x, 0.91849929f), x, 1.62788979f);
  return copysignf(1.0f - sm_exp2(-(p * x)), a);
}
)";
constexpr std::string_view kTangent =
    R"(// y is an odd function of a, made from numbers near 1, whose digits are few near 0: there it is its tangent.
SM float sm_tangent(float a, float slope, float y) { return fabsf(a) < 0.0078125f ? slope * a : y; }
)";
constexpr std::string_view kDiv = R"(// Truncating; x / 0 = x.
SM int sm_div(int a, int b) { return b == 0 || (b == -1 && a == -2147483647 - 1) ? a : a / b; }
)";
constexpr std::string_view kAbs = R"(SM int sm_abs(int a) { return a < 0 ? -a : a; }
)";
constexpr std::string_view kSine = R"(
// sin(x + quarters pi/2). The reduction by pi/2 in two doubles needs no table, so no memory of the thread's own;
// right up to 1e14, beyond some number between -1 and 1.
SM float sm_sine(float x, int quarters) {
  const double shifted = fma((double)x, 0.63661977236758134, 6755399441055744.0);
  const double turns = shifted - 6755399441055744.0;
  const float rest = (float)fma(turns, -6.1232339957367660e-17, fma(turns, -1.5707963267948966, (double)x));
  const float r = fabsf(rest) > 0.8f ? 0.0f : rest, t = r * r;
  const int turn = __double2loint(shifted) + quarters;
  const float sine = fmaf(r * t, fmaf(fmaf(-1.9517233e-4f, t, 8.332178e-3f), t, -0.16666655f), r);
  const float cosine =
      fmaf(fmaf(fmaf(fmaf(2.4438434e-5f, t, -1.3887367e-3f), t, 4.1666646e-2f), t, -0.5f), t, 1.0f);
  const float y = (turn & 1) != 0 ? cosine : sine;
  return (turn & 2) != 0 ? -y : y;
}
)";
constexpr std::string_view kSin = R"(SM float sm_sin(float x) { return sm_sine(x, 0); }
)";
constexpr std::string_view kCos = R"(SM float sm_cos(float x) { return sm_sine(x, 1); }
)";

// ---- random numbers
constexpr std::string_view kPhilox = R"(
// Philox4x32-7: the decisions of eight columns, two a word.
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
)";
constexpr std::string_view kRandom = R"(// One column's decision alone.
SM int sm_random(const unsigned* random, unsigned id, unsigned row, unsigned column) {
  unsigned words[4];
  sm_philox(words, random, id, row, column / 8);
  const unsigned which = column / 2 % 4;
  const unsigned word = which == 0 ? words[0] : which == 1 ? words[1] : which == 2 ? words[2] : words[3];
  return (int)(word >> column % 2 * 16 & 0xFFFFu);
}
)";

// ---- reductions: what joins two states; the same bits whichever side comes first
constexpr std::string_view kJoinMaxSumexp = R"(
template <bool fast>
SM void sm_join_max_sumexp(float& m, float& s, float m2, float s2) {
  const float top = sm_max(m, m2), base = top == -sm_infinity() ? 0.0f : top;
  s = __fadd_rn(__fmul_rn(s, sm_exp<fast>(m - base)), __fmul_rn(s2, sm_exp<fast>(m2 - base)));
  m = top;
}
)";
constexpr std::string_view kShareMaxSumexp = R"(
// The pairs of W lanes become one: the largest maximum first, then every sum scaled to it once.
template <bool fast, int W>
SM void sm_share_max_sumexp(float& m, float& s, unsigned mask) {
  float top = m;
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) top = sm_max(top, __shfl_xor_sync(mask, top, d));
  const float base = top == -sm_infinity() ? 0.0f : top;
  s *= sm_exp<fast>(m - base);
#pragma unroll
  for (int d = W / 2; d > 0; d /= 2) s += __shfl_xor_sync(mask, s, d);
  m = top;
}
)";
constexpr std::string_view kTakeMaxSumexp = R"(
// V elements more. A NaN is no maximum: it reaches the sum, and by that the result.
template <bool fast, int V>
SM void sm_take_max_sumexp(float& m, float& s, const float (&x)[V]) {
  float top = m, sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) top = fmaxf(top, x[i]);
  const float base = top == -sm_infinity() ? 0.0f : top;
#pragma unroll
  for (int i = 0; i < V; ++i) sum += sm_exp<fast>(x[i] - base);
  s = s * sm_exp<fast>(m - base) + sum;
  m = top;
}
)";
constexpr std::string_view kTakeExponentials = R"(
// All elements of a thread, which become their exponentials below the thread's own maximum; that base is returned.
template <bool fast, int K, int V>
SM float sm_take_exponentials(float& m, float& s, float (&x)[K][V]) {
  m = -sm_infinity(), s = 0;
#pragma unroll
  for (int i = 0; i < K * V; ++i) m = fmaxf(m, x[i / V][i % V]);
  const float base = m == -sm_infinity() ? 0.0f : m;
#pragma unroll
  for (int i = 0; i < K * V; ++i) s += x[i / V][i % V] = sm_exp<fast>(x[i / V][i % V] - base);
  return base;
}
)";
constexpr std::string_view kJoinArgmax = R"(
// Index -1: no element. NaN wins; of equals the smaller index.
template <typename T>
SM void sm_join_argmax(T& x, int& i, T x2, int i2) {
  const bool nan = x != x, nan2 = x2 != x2;
  const bool greater = x2 > x || (nan2 && !nan), equal = x2 == x || (nan2 && nan);
  if (i2 >= 0 && (i < 0 || greater || (equal && i2 < i))) x = x2, i = i2;
}
)";
constexpr std::string_view kJoinFirst = R"(
template <typename T>
SM void sm_join_first(T& x, int& i, T x2, int i2) {
  if (i2 >= 0 && (i < 0 || i2 < i)) x = x2, i = i2;
}
)";
constexpr std::string_view kBarrier = R"(
// A barrier for the threads of one team.
SM void sm_barrier(int team, int threads) {
#ifdef __CUDA_ARCH__
  asm volatile("bar.sync %0, %1;" : : "r"(team), "r"(threads) : "memory");
#else
  host_barrier(team, threads);
#endif
}
)";
constexpr std::string_view kFetch = R"(
// A vector sets out for shared memory; what sets out up to sm_end_fetch arrives together.
template <int bytes>
SM void sm_fetch(unsigned char* to, const void* from) {
  constexpr int P = bytes < 16 ? bytes : 16;
#pragma unroll
  for (int i = 0; i < bytes; i += P) {
#ifdef __CUDA_ARCH__
    const unsigned place = (unsigned)__cvta_generic_to_shared(to + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(place), "l"((const char*)from + i), "n"(P) : "memory");
#else
    memcpy(to + i, (const char*)from + i, P);
#endif
  }
}
)";
constexpr std::string_view kEndFetch = R"(SM void sm_end_fetch() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
)";
constexpr std::string_view kAwaitFetched = R"(
// All has arrived but the `later` last.
template <int later>
SM void sm_await_fetched() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" : : "n"(later) : "memory");
#endif
}
)";
constexpr std::array kPieces = {
    PreludePiece{"float", kFloat},
    PreludePiece{"double", kDouble},
    PreludePiece{"int", kInt},
    PreludePiece{"i64", kI64},
    PreludePiece{"u16", kU16},
    PreludePiece{"u8", kU8},
    PreludePiece{"flag", kFlag},
    PreludePiece{"bf16", kBf16},
    PreludePiece{"f16", kF16},
    PreludePiece{"sm_round", kRound},
    PreludePiece{"sm_round_random", kRoundRandom},
    PreludePiece{"Pack", kPack},
    PreludePiece{"sm_bring", kBring},
    PreludePiece{"sm_load", kLoad},
    PreludePiece{"sm_load_end", kLoadEnd},
    PreludePiece{"sm_put_pair", kPair},
    PreludePiece{"bf16", kPairBf16},
    PreludePiece{"f16", kPairF16},
    PreludePiece{"sm_store", kStore},
    PreludePiece{"sm_store_end", kStoreEnd},
    PreludePiece{"sm_infinity", kInfinity},
    PreludePiece{"sm_max", kMax},
    PreludePiece{"sm_min", kMin},
    PreludePiece{"sm_sign", kSign},
    PreludePiece{"sm_sigmoid", kSigmoid},
    PreludePiece{"sm_exp2", kExp2},
    PreludePiece{"sm_inverse", kInverse},
    PreludePiece{"sm_fast_exp", kFastExp},
    PreludePiece{"sm_exp", kExp},
    PreludePiece{"sm_fast_tanh", kFastTanh},
    PreludePiece{"sm_fast_sigmoid", kFastSigmoid},
    PreludePiece{"sm_fast_erf", kFastErf},
    PreludePiece{"sm_tangent", kTangent},
    PreludePiece{"sm_div", kDiv},
    PreludePiece{"sm_abs", kAbs},
    PreludePiece{"sm_sine", kSine},
    PreludePiece{"sm_sin", kSin},
    PreludePiece{"sm_cos", kCos},
    PreludePiece{"sm_philox", kPhilox},
    PreludePiece{"sm_random", kRandom},
    PreludePiece{"sm_join_max_sumexp", kJoinMaxSumexp},
    PreludePiece{"sm_share_max_sumexp", kShareMaxSumexp},
    PreludePiece{"sm_take_max_sumexp", kTakeMaxSumexp},
    PreludePiece{"sm_take_exponentials", kTakeExponentials},
    PreludePiece{"sm_join_argmax", kJoinArgmax},
    PreludePiece{"sm_join_first", kJoinFirst},
    PreludePiece{"sm_barrier", kBarrier},
    PreludePiece{"sm_fetch", kFetch},
    PreludePiece{"sm_end_fetch", kEndFetch},
    PreludePiece{"sm_await_fetched", kAwaitFetched},
};

}  // namespace

std::span<const PreludePiece> prelude_pieces() { return kPieces; }

}  // namespace smelt
