// The function `attention` of the kernel that computes dQ. The backward kernel has stored sums of products
// in f32; this kernel multiplies these sums by the scale and rounds them to 16 bits.
// Requires: tiles.cuh and the constants of the backward kernel.


// Each block computes one query tile of one query head. All threads of the block, kConsumers warp groups,
// call it. If kByColumns, the tile has 64 rows, and each warp group computes kSumColumns of the columns.
// Otherwise each warp group computes 64 rows, with all columns. The sums of a warp group are stored as an
// array [kSumColumns / 8][128 threads] of vectors of four f32 numbers.
// The backward kernel uses counters[0] and counters[1] for other purposes. counters[2 + block] is the
// number of key tiles whose terms are in the sums of the block's query tile. If it is 0, the sums are
// undefined, and dQ is 0. The function sets it to 0 for the next launch. dq_b, dq_t and dq_h are the
// strides of dQ between batch rows, queries and heads, in elements.
SM void attention(const float* sums, Half* dq_to, unsigned* counters, long long heads_, long long queries_,
                  long long dq_b, long long dq_t, long long dq_h, float scale) {
  const int heads = (int)heads_, queries = (int)queries_, tiles = (queries + kQueries - 1) / kQueries;
  const int tile = blockIdx.x % tiles, h = blockIdx.x / tiles % heads, b = blockIdx.x / tiles / heads;
  const int wg = threadIdx.x / 128, lane = threadIdx.x & 31, warp = threadIdx.x / 32 & 3;
  const Four* from = (const Four*)(sums + (long long)blockIdx.x * (kSumBytes / 4)) + wg * kSumColumns * 16 + (threadIdx.x & 127);
  const bool seen = counters[2 + blockIdx.x] != 0;
  float dq[kSumColumns / 2];
#pragma unroll
  for (int i = 0; i < kSumColumns / 8; ++i) {
    const Four x = seen ? from[128 * i] : Four{0.0f, 0.0f, 0.0f, 0.0f};
    dq[4 * i] = x.x, dq[4 * i + 1] = x.y, dq[4 * i + 2] = x.z, dq[4 * i + 3] = x.w;
  }
  const int column = kByColumns ? wg * kSumColumns : 0;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int t = tile * kQueries + (kByColumns ? 0 : 64 * wg) + 16 * warp + (lane >> 2) + 8 * r;
    store_row(dq_to + b * dq_b + h * dq_h + t * dq_t + column, t < queries, dq, r, scale, kHead - column);
  }
  __syncthreads();  // all threads have read the counter
  if (threadIdx.x == 0) counters[2 + blockIdx.x] = 0;
}
