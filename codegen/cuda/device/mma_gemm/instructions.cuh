// Copies, loads and products of the matmul kernel for sm_80 and later as PTX instructions. Tests on a host replace
// this file.
// Requires: the macros SM (the qualifiers of a device function) and HALF_TYPE (the 16-bit element type in PTX, as a
// string), and the type Half (16 bits).


// Returns x, but hides from the compiler that the result is x. So the compiler computes addresses from the result after
// each call, and does not keep them in registers between calls.
SM unsigned fresh(unsigned x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Begins a copy to 16 bytes at the shared memory address `to`: the first `bytes` bytes come from `from`, and
// the others become zeros. One thread calls it.
SM void copy_async(unsigned to, const Half* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
// Makes one group of the copies that the thread has begun since its previous group.
SM void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the newest `left` groups of the thread are incomplete. A barrier must follow before other threads
// read what was copied.
template <int left>
SM void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }

// Load four 8 x 8 matrices of 16-bit elements from shared memory as mma fragments. load_transposed also
// transposes each matrix. A lane passes the address of row lane & 7 of matrix lane >> 3. All lanes of a warp
// call these.
SM void load_fragments(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}

// d[16 x 8] += A[16 x 16] B[16 x 8], in the fragments of mma.m16n8k16. d is at sums[at], ..., sums[at + 3]. All lanes of
// a warp call it.
template <int n>
SM void multiply(float (&sums)[n], int at, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32." HALF_TYPE "." HALF_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[at]), "+f"(sums[at + 1]), "+f"(sums[at + 2]), "+f"(sums[at + 3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// d[16 x 8] += A[16 x 32] B[32 x 8], in the fragments of mma.m16n8k32: of bytes, whose sums are exact.
template <int n>
SM void multiply(int (&sums)[n], int at, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sums[at]), "+r"(sums[at + 1]), "+r"(sums[at + 2]), "+r"(sums[at + 3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
