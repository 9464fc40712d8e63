// The way of products from the warp groups of the matmul kernel for sm_90a that multiply to those that run the epilogue:
// rounded, through shared memory.
// Requires: sizes.cuh, ../halves.cuh and the files of ../wgmma.


// Returns the address of eight adjacent elements, from column 8 * chunk on, of row `row` of the products of a warp
// group, which are boxes with the 128-byte swizzle from the address `part` on.
SM unsigned place_in(unsigned part, int row, int chunk) {
  return part + chunk / 8 * kBoxBytes + row * 128 + ((chunk % 8 ^ row % 8) << 4);
}
// Stores four 8 x 8 matrices of 16-bit elements, given as mma fragments, to shared memory. A lane passes the
// address of row lane & 7 of matrix lane >> 3. All lanes of a warp call it.
SM void store_fragments(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
// Stores accumulators of a warp group, rounded to 16 bits, from column `column` of the products at the address `part`
// on. All threads of the warp group call it.
template <int n>
SM void store_products(unsigned part, int column, const float (&sums)[n], int warp, int lane) {
  const int row = 16 * warp + (lane >> 3 & 1) * 8 + (lane & 7);  // the row whose address the lane passes
#pragma unroll
  for (int i = 0; i < n / 8; ++i) {
    const float* x = &sums[8 * i];
    store_fragments(place_in(part, row, column / 8 + 2 * i + (lane >> 4)), pack(x[0], x[1]), pack(x[2], x[3]), pack(x[4], x[5]),
                    pack(x[6], x[7]));
  }
}
// Writes eight adjacent elements of the products at the address `from` to `result`.
SM void take_eight(float (&result)[8], unsigned from) {
  unsigned w[4];
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(from) : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) result[2 * i] = low_of(w[i]), result[2 * i + 1] = high_of(w[i]);
}
// Fetches the line at this address to the L2 cache.
SM void fetch_line(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }
