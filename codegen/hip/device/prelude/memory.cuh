// Types of elements in memory of 16 bits: HIP's text of pieces of codegen/printers/device/prelude/memory.cuh,
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
