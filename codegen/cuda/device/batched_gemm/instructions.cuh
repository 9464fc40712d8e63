// Copies, loads and products of batched matmuls (kernel.cuh) as PTX instructions. Tests on a host replace this
// file.
// Requires: the macros SM (the qualifiers of a device function) and MMA_TYPE (element type of A and B in PTX, a
// string); the type Half (16 bits).


// Returns the address in shared memory of what p points to.
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Begins a copy to 16 bytes at the shared memory address `to`: the first `bytes` bytes come from `from`, and
// the others become zeros.
SM void copy_async(unsigned to, const Half* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

// Copies `bytes` bytes, whole elements of 2 bytes, to 16 bytes at the shared memory address `to`; the others
// become zeros.
SM void copy_elements(unsigned to, const Half* from, int bytes) {
  unsigned words[4] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (2 * i < bytes) words[i / 2] |= (unsigned)from[i] << 16 * (i % 2);
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// Makes one group of the copies that this thread has begun since its previous group.
SM void end_stage() { asm volatile("cp.async.commit_group;"); }
// Waits until at most the newest `left` groups of this thread are incomplete.
template <int left>
SM void wait_for_stages() { asm volatile("cp.async.wait_group %0;" ::"n"(left)); }

// Load four 8 x 8 matrices of 16-bit elements from shared memory as mma fragments. load_transposed also
// transposes each matrix. A lane passes the address of row lane & 7 of matrix lane >> 3. All lanes of a warp
// call these.
SM void load_fragments(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
SM void load_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}

// d[16 x 8] += A[16 x 16] B[16 x 8], in the fragments of mma.m16n8k16. All lanes of a warp call it.
SM void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
