// Types of elements in memory of 16 and 8 bits, which PTX has instructions for: CUDA's text of pieces of
// codegen/printers/device/prelude/memory.cuh, which says what the functions do. Code without __CUDA_ARCH__ is
// for tests, which compile kernels for the host; that of f8e4m3 is also for GPUs before sm_89.
// A line with ==== begins a piece.
// Requires: the macro SM (the qualifiers of a device function).

// ==== bf16
struct bf16 { unsigned short bits; };
SM float sm_get(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
SM void sm_put(bf16& to, float x) {
#ifdef __CUDA_ARCH__  // the instruction that rounds two numbers is faster than the one that rounds one
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(x));
  to.bits = (unsigned short)both;
#else
  const unsigned bits = __float_as_uint(x);
  to.bits = (unsigned short)(x != x ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
#endif
}
// ==== f16
struct f16 { unsigned short bits; };
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
// ==== f8e4m3
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define SM_HAS_F8
#endif
struct f8e4m3 { unsigned char bits; };
SM float sm_get(f8e4m3 x) {
#ifdef SM_HAS_F8
  unsigned both;
  float y;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"((unsigned short)x.bits));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((unsigned short)both));
  return y;
#else
  const unsigned magnitude = x.bits & 0x7Fu, sign = (x.bits & 0x80u) << 24;
  const float scaled = __uint_as_float(magnitude << 20) * 0x1p120f;
  return __uint_as_float((magnitude == 0x7Fu ? 0x7FC00000u : __float_as_uint(scaled)) | sign);
#endif
}
SM void sm_put(f8e4m3& to, float x) {
#ifdef SM_HAS_F8
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  to.bits = (unsigned char)both;
#else
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7FFFFFFFu;
  unsigned y = (magnitude + (magnitude >> 20 & 1) + 0x7FFFFu - (120u << 23)) >> 20;
  if (magnitude < 0x3C800000u) y = __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - 0x46800000u;
  if (magnitude >= 0x43E00000u) y = 0x7Eu;
  if (magnitude > 0x7F800000u) y = 0x7Fu;
  to.bits = (unsigned char)(y | (bits >> 24 & 0x80u));
#endif
}
// ==== bf16
SM void sm_put_pair(bf16* to, float a, float b) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  to[0].bits = (unsigned short)both, to[1].bits = (unsigned short)(both >> 16);
#else
  sm_put(to[0], a), sm_put(to[1], b);
#endif
}
// ==== f16
SM void sm_put_pair(f16* to, float a, float b) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  to[0].bits = (unsigned short)both, to[1].bits = (unsigned short)(both >> 16);
#else
  sm_put(to[0], a), sm_put(to[1], b);
#endif
}
// ==== f8e4m3
SM void sm_put_pair(f8e4m3* to, float a, float b) {
#ifdef SM_HAS_F8
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(b), "f"(a));
  to[0].bits = (unsigned char)both, to[1].bits = (unsigned char)(both >> 8);
#else
  sm_put(to[0], a), sm_put(to[1], b);
#endif
}
// ==== sm_store_shifted
// A lane stores the pieces of 16 bytes whose addresses are multiples of 16 and whose last element is its own. `past`: the
// elements of the first of them that the lane before has. Elements of pieces that no lane has as a whole are stored one by
// one: those before the first lane's pieces, and after the last one's.
template <typename T, typename C, int V, typename N>
SM void sm_store_shifted(T* to, const C (&from)[V], N n, int lane) {
  constexpr int P = 16 / sizeof(T), kWords = V / P * 4;
  const int past = (int)((size_t)to % 16 / sizeof(T)), place = lane % 32;
  if (past == 0) return sm_store<true>(to, from, n);
  alignas(16) T elements[P + V];  // the last P of the lane before, and the lane's own
  unsigned words[4 + kWords];
#pragma unroll
  for (int i = 0; i < V; ++i) sm_put(elements[P + i], from[i]);
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[4 + i] = ((const Pack<unsigned, 1>*)elements)[4 + i].at[0];
  const N lanes = (n + (N)place * V + V - 1) / V;
  const unsigned mask = lanes < 32 ? (1u << (int)lanes) - 1u : 0xFFFFFFFFu;
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = __shfl_up_sync(mask, words[kWords + i], 1);
#pragma unroll
  for (int i = 0; i < 4; ++i) ((Pack<unsigned, 1>*)elements)[i].at[0] = words[i];
  if (place > 0 && n >= V - past) {
    const int skip = (P - past) * (int)sizeof(T);  // bytes
    if (skip & 8) {
#pragma unroll
      for (int i = 0; i < 2 + kWords; ++i) words[i] = words[i + 2];
    }
    if (skip & 4) {
#pragma unroll
      for (int i = 0; i < 3 + kWords; ++i) words[i] = words[i + 1];
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], skip % 4 * 8);
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i)
      ((Pack<unsigned, 4>*)(to - past))[i] = {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]};
  } else {
#pragma unroll
    for (int i = 0; i < P; ++i)
      if (place > 0 && i >= P - past) to[i - P] = elements[i];
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (i < n && i < V - past) to[i] = elements[P + i];
  }
  if (place < 31 && n > V) return;
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i >= V - past && i < n) to[i] = elements[P + i];
}
