// Operands and accumulators of wgmma. The functions that issue wgmma instructions are generated
// (wgmma_functions in codegen/cuda/wgmma_text.h).
// Requires: types.cuh, barriers.cuh and ../halves.cuh; the macro SM (the qualifiers of a device function).


// ---- wgmma
// Returns the low word of the descriptor of an operand that begins at this address in shared memory. The
// operand has rows of 128 bytes (64 elements) with the 128-byte swizzle. chunk_bytes is 0 if the operand is
// contiguous along k. Otherwise it is the distance, in bytes, between chunks of 64 elements along the
// contiguous axis. Adding n >> 4 to the result moves the address by n bytes.
SM unsigned describe(unsigned address, unsigned chunk_bytes) { return (address & 0x3FFFF) >> 4 | (chunk_bytes >> 4) << 16; }
// Returns the whole descriptor with this low word: 128-byte swizzle, 1024 bytes between groups of 8 rows.
SM Descriptor descriptor(unsigned place) { return (Descriptor)(1u << 30 | 1024 >> 4) << 32 | place; }
// Returns x of lane 0 to all lanes of the warp. The compiler then knows that the lanes have the same value.
SM int uniform(int x) { return __shfl_sync(0xFFFFFFFFu, x, 0); }
// All 128 threads of a warp group call these three functions. multiply_begin orders earlier accesses to
// registers before the wgmma instructions that follow it. multiply_commit makes one group of
// the wgmma instructions that were issued since its previous call. multiply_wait waits until at most the
// newest `groups` groups are incomplete.
SM void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SM void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups>
SM void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// Prevents the compiler from moving reads of the registers x before the preceding multiply_wait. The
// compiler does not know that incomplete wgmma instructions still read and write these registers.
template <int n>
SM void pin(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int n>
SM void pin(unsigned (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
// Makes the compiler compute x before the wait that follows, instead of after it. The asm statement reads x
// in a branch, and has no other effect.
SM void finish(float x) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, -1;\n@p bra DONE;\nnanosleep.u32 0;\nDONE:\n}" ::"r"(__float_as_int(x)) : "memory");
}
// Sets all elements to 0.
template <int n>
SM void clear(float (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = 0.0f;
}

// ---- lanes
// Stores one row of an accumulator fragment, times `factor` and rounded to 16 bits, to row[0], ...,
// row[columns - 1]. x: the lane's n accumulators. A lane has elements of two rows, which are 8 apart;
// `upper` is 0 for the first of these rows and 1 for the second one. x[4 * g + 2 * upper + e], with e = 0
// or 1, is in column 8 * g + 2 * (lane & 3) + e. Nothing is stored if `there` is false. All lanes of a warp
// call it, because the lanes of a quad exchange words, so that each lane stores 16 adjacent bytes.
// Requires: `row` is aligned to 16 bytes, and `columns` is a multiple of 8.
template <int n>
SM void store_row(Half* row, bool there, const float (&x)[n], int upper, float factor, int columns) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int g = 0; g < n / 4; g += 4) {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (g + i) + 2 * upper;
      w[i] = g + i < n / 4 ? pack(x[at < n ? at : 0] * factor, x[at < n ? at + 1 : 1] * factor) : 0;
    }
    transpose_quad(w);
    const int column = 8 * (g + lane);
    if (there && column < columns) *(Piece*)(row + column) = Piece{{w[0], w[1], w[2], w[3]}};
  }
}
