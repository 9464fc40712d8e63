// Constants, and functions that approximate 2^x and the base-2 logarithm by one instruction, for the
// attention kernels for sm_90a.
// Requires: the macro SM, the qualifiers of a device function.
// The text of such a kernel consists of these files and texts, in this order. Products `x` are the
// generated functions begin_x and multiply_x (codegen/cuda/wgmma_text.h).
//   HALF_TYPE (a macro: the 16-bit element type in PTX, as a string)
//   the functions of the score_mod ("body", codegen/cuda/attention/attention_hooks.h)
//   ../../wgmma/types, math, the constants of the kernel, kOps (random ops of the score_mod, at least 1)
//   ../../wgmma/barriers, ../../wgmma/products, tiles
//   the files of the forward, the backward or the dQ kernel:
//     forward   products `scores` and `outputs`, weights, forward_tiles, forward
//     backward  products `scores`, `values`, `keys` and `sums`, backward_tiles, gradients, order, backward
//     dQ        query_gradient

constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
// Returns +inf.
SM float infinity() { return __int_as_float(0x7f800000); }
// Returns 2^x. A result that is less than the least normal number becomes 0.
SM float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Returns the base-2 logarithm of x. Numbers less than the least normal number count as 0.
SM float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
