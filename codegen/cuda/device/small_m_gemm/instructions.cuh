// Loads and products of small-M GEMMs as PTX instructions. In such a GEMM, the matrix A has few rows, and
// the other matrix is the weights. Tests on a host replace this file.
// cp.async.cg loads weights without storing them in the L1 cache. So the L1 cache keeps A, which every
// block reads. The L2 cache fetches 128 adjacent bytes of weights at once; two adjacent warps load 64 bytes
// each.
// Requires: the macros of small_m_macros (codegen/cuda/small_m/small_m_text.h), the prelude, and the types
// Half and Weight. Order of the files in the text of a kernel: instructions, widen_bytes (if weights are
// bytes), function or chain, kernel.


// Returns the address in shared memory of what p points to.
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Starts to copy 16 bytes from global memory to the shared memory address `to`. Writes zeros, and reads nothing,
// if is_there is false. One thread calls it.
SM void load_weights(unsigned to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(is_there ? 16 : 0) : "memory");
}
// Starts to copy the aligned word of 4 bytes that `from` is in. Writes a zero if is_there is false.
SM void load_word(unsigned to, const void* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"((unsigned long long)from & ~3ull),
               "r"(is_there ? 4 : 0) : "memory");
}
// Makes one cp.async group of the copies that this thread has started since its previous group.
SM void end_piece() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the newest `left` groups of this thread are incomplete.
template <int left>
SM void wait_for_pieces() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }
// Loads four words (eight elements of A) from global memory. Writes zeros if is_there is false. The load is
// predicated, so it needs no branch. It is volatile, so that the compiler does not move it after the
// products that follow.
SM void load_four(unsigned* to, const Half* from, bool is_there) {
  asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
               "@p ld.global.v4.b32 {%0,%1,%2,%3}, [%4];}"
               : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3]) : "l"(from), "r"((int)is_there));
}
// Does the same, but loads from shared memory.
SM void load_four_staged(unsigned* to, const Half* from, bool is_there) {
  const uint4 words = is_there ? *(const uint4*)from : make_uint4(0, 0, 0, 0);
  to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
}
// Load two words, or one, from a shared memory address. They are volatile, so that the compiler does not move them after the
// products that follow.
SM void load_shared_two(unsigned* to, unsigned from) {
  asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from) : "memory");
}
SM unsigned load_shared_word(unsigned from) {
  unsigned word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}
// Barriers (mbarrier) in 8 bytes at a shared memory address. A barrier is passed each time that `count` threads have
// arrived. begin_barrier must come before all others, with a barrier of the block between them.
SM void begin_barrier(unsigned at, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}
// Arrives at once.
SM void arrive_at(unsigned at) {
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(at) : "memory");
}
// Arrives when all copies that this thread has started are complete.
SM void arrive_when_copied(unsigned at) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
}
// Returns whether the barrier has been passed as often as it takes for the number of the last pass, counted from 0,
// to have this parity.
SM bool is_past(unsigned at, unsigned parity) {
  unsigned past;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(past) : "r"(at), "r"(parity) : "memory");
  return past != 0;
}
// Waits until is_past. All lanes of a warp call it.
SM void wait_at(unsigned at, unsigned parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;}" ::"r"(at),
               "r"(parity) : "memory");
#else
  while (!is_past(at, parity)) {}
#endif
  __syncwarp(~0u);
}
// Adds a product of 16 x 16 and 16 x 8 elements to d. All lanes of a warp call it. d, a0 to a3, b0 and b1
// are the lane's fragments of mma.m16n8k16. The 16 rows of the first matrix are rows of weights. The 8
// columns of the second matrix are rows of A.
SM void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
