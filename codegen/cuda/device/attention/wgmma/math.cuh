// Constants, and functions of numbers in one instruction.
// Requires: SM.
// Order: HALF_TYPE, the body (attention_hooks.h), wgmma/types, math, the constants of the kernel, kOps, wgmma/barriers,
// wgmma/products, tiles, and then
//   forward   products named `scores` and `outputs`, weights, forward_tiles, forward
//   backward  products named `scores`, `values`, `keys` and `sums`, backward_tiles, gradients, order, backward
//   dQ        query_gradient


constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
SM float infinity() { return __int_as_float(0x7f800000); }
SM float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
SM float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
