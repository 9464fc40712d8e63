// Types of elements in memory of 16 and 8 bits: HIP's text of pieces of codegen/printers/device/prelude/memory.cuh,
// which says what the functions do.
// A line with ==== begins a piece.
// Requires: the macro SM (the qualifiers of a device function).

// ==== bf16
struct bf16 { unsigned short bits; };
SM float sm_get(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
SM void sm_put(bf16& to, float x) {
  const unsigned bits = __float_as_uint(x);
  to.bits = (unsigned short)(x != x ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
// ==== f16
struct f16 { _Float16 number; };
SM float sm_get(f16 x) { return (float)x.number; }
SM void sm_put(f16& to, float x) { to.number = (_Float16)x; }
// ==== f8e4m3
struct f8e4m3 { unsigned char bits; };
SM float sm_get(f8e4m3 x) {
  const unsigned magnitude = x.bits & 0x7Fu, sign = (x.bits & 0x80u) << 24;
  const float scaled = __uint_as_float(magnitude << 20) * 0x1p120f;
  return __uint_as_float((magnitude == 0x7Fu ? 0x7FC00000u : __float_as_uint(scaled)) | sign);
}
SM void sm_put(f8e4m3& to, float x) {
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7FFFFFFFu;
  unsigned y = (magnitude + (magnitude >> 20 & 1) + 0x7FFFFu - (120u << 23)) >> 20;
  if (magnitude < 0x3C800000u) y = __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - 0x46800000u;
  if (magnitude >= 0x43E00000u) y = 0x7Eu;
  if (magnitude > 0x7F800000u) y = 0x7Fu;
  to.bits = (unsigned char)(y | (bits >> 24 & 0x80u));
}
// ==== sm_store_shifted
template <typename T, typename C, int V, typename N>
SM void sm_store_shifted(T* to, const C (&from)[V], N n, int) { sm_store<false>(to, from, n); }
