// Constants, and approximate functions of f32 numbers that are one instruction each. The first of the files
// of wgmma/ in the text of an attention kernel for sm_90a.
// Requires: SM.
// Order of the text: HALF_TYPE (element type in PTX, a string), the functions of the score_mod ("body",
// codegen/cuda/attention/attention_hooks.h), ../../wgmma/types, math, the constants of the kernel, kOps
// (random ops of the score_mod, at least 1), ../../wgmma/barriers, ../../wgmma/products, tiles, and then the
// following. Products `x` are the functions begin_x and multiply_x (codegen/cuda/wgmma_text.h).
//   forward   products `scores` and `outputs`, weights, forward_tiles, forward
//   backward  products `scores`, `values`, `keys` and `sums`, backward_tiles, gradients, order, backward
//   dQ        query_gradient


constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
SM float infinity() { return __int_as_float(0x7f800000); }
// Returns 2^x; 0 if the result is below the normal numbers.
SM float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Returns the base-2 logarithm; numbers below the normal ones count as 0.
SM float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
