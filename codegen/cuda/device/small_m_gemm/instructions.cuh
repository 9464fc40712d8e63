// Loads and products of small-M GEMMs as instructions of the GPU; tests on a host replace them.
// Weights bypass the L1 cache, which keeps A, because all blocks of a multiprocessor read A again. The L2 fetches 128 bytes of
// a row at once; two neighbouring warps load one half each.
// Requires: the macros of small_m_macros (codegen/cuda/small_m/small_m_text.h), the prelude, and the types Half and Weight.
// Order: instructions, widen_bytes if weights are bytes, function, and the kernel.


SM void load_weights(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(is_there ? 16 : 0) : "memory");
}
SM void end_piece() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until no more than `left` of the pieces that this thread has begun are on their way.
template <int left>
SM void wait_for_pieces() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }
SM void load_four(unsigned* to, const Half* from, bool is_there) {
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
               "@p ld.global.v4.b32 {%0,%1,%2,%3}, [%4];}"
               : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3]) : "l"(from), "r"((int)is_there));
}
SM void load_four_staged(unsigned* to, const Half* from, bool is_there) {
  const uint4 words = is_there ? *(const uint4*)from : make_uint4(0, 0, 0, 0);
  to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
}
SM void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
