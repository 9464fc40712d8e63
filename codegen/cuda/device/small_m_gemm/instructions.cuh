// Loads and products of small-M GEMMs as PTX instructions. Tests on a host replace this file. Weights bypass
// the L1 cache (cp.async.cg), so that A stays in it; all blocks of a multiprocessor read A repeatedly. The L2
// cache fetches 128 bytes of a row of weights at once; two adjacent warps load one half each.
// Requires: the macros of small_m_macros (codegen/cuda/small_m/small_m_text.h), the prelude, and the types
// Half and Weight. Order: instructions, widen_bytes if weights are bytes, function, and the kernel.


// Starts to copy 16 bytes from global to shared memory; zeros unless is_there.
SM void load_weights(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(is_there ? 16 : 0) : "memory");
}
// Makes one group of the copies that this thread has started since the previous group: those of one round.
SM void end_piece() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the `left` newest groups of this thread are in flight.
template <int left>
SM void wait_for_pieces() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }
// Loads four words from global memory; zeros unless is_there. The load is predicated, without a branch, and
// volatile, so that the compiler keeps it before the products of the rounds in between.
SM void load_four(unsigned* to, const Half* from, bool is_there) {
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
               "@p ld.global.v4.b32 {%0,%1,%2,%3}, [%4];}"
               : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3]) : "l"(from), "r"((int)is_there));
}
// Does the same from shared memory.
SM void load_four_staged(unsigned* to, const Half* from, bool is_there) {
  const uint4 words = is_there ? *(const uint4*)from : make_uint4(0, 0, 0, 0);
  to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
}
// Adds a 16 x 16 by 16 x 8 product to the accumulator fragment d: 16 rows of weights (a0, ..., a3), two words
// of each of rows lane / 4 and lane / 4 + 8, by 8 rows of A (b0 and b1). All lanes of a warp call it.
SM void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
