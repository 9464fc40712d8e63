// The function run_epilogue of the matmul kernel for sm_90a. It runs the epilogue ("body") for all elements
// that a warp group has multiplied.
// Requires: tiles.cuh and the body's functions (codegen/cuda/gemm/gemm_text.h).


// kCalls: calls of the epilogue for a lane's rows and eight of its columns. kAhead: calls by which loads are ahead.
constexpr int kCalls = kPartRows / kStepRows, kAhead = kCalls - 1;

// Runs the epilogue for 64 rows of a tile. All 128 threads of warp group number wg (0 or 1) of those that run epilogues
// call it. `row` is the first of the rows, and `column` the first column. m and n: rows and columns of the whole
// result. part: address in shared memory of the products. wait() returns when the products are there, and done()
// reports that they have been read. scratch: address in shared memory for column sums, which some epilogues compute.
// A warp accesses 128 adjacent bytes of each row. Loads are issued kAhead calls of the epilogue before their values are
// used, the first ones before the products are there. next_row and next_column: those of the warp group's next tile,
// whose lines are fetched to the L2 cache meanwhile.
template <class Wait, class Done>
SM void run_epilogue(unsigned part, int row, int column, int next_row, int next_column, int wg, int warp, int lane, int m, int n,
                     const BodyArguments& body, unsigned scratch, Wait wait, Done done) {
  const int own = 4 * warp + lane / kRowLanes, chunk = lane % kRowLanes;  // the lane's first row, and its columns
  const int first = row + own, c = column + 8 * chunk;
  BodyColumns same, next;
  BodyLoads loads[kCalls];
  body_columns(body, c, n, same);
#pragma unroll
  for (int call = 0; call < kAhead; ++call) body_load(body, first + call * kStepRows, m, c, n, loads[call]);
#pragma unroll 1
  for (int box = 0; box < kBBoxes; ++box)
#pragma unroll
    for (int call = 0; call < kCalls; ++call)
      body_prefetch(body, next_row + own + call * kStepRows, m, next_column + 64 * box + 8 * chunk, n);
  wait();
#pragma unroll 1
  for (int box = 0; box < kBBoxes; ++box) {
    const int at = c + 64 * box, after = box + 1 < kBBoxes ? at + 64 : n;
    BodySums sums;
#pragma unroll
    for (int call = 0; call < kCalls; ++call) {
      const int ahead = call + kAhead;
      body_load(body, first + ahead % kCalls * kStepRows, m, ahead < kCalls ? at : after, n, loads[ahead % kCalls]);
      if (call == 0) body_columns(body, after, n, next);
      float products[8];
      take_eight(products, place_in(part, own + call * kStepRows, 8 * box + chunk));
      body_run(body, first + call * kStepRows, m, at, n, same, loads[call], sums, products);
    }
    body_lanes(sums, 64 * box, 4 * wg + warp, lane, scratch);
    same = next;
  }
  done();
  if (kSums == 0) return;
  // The first barrier: all warps have stored their column sums before body_sum reads them. The second
  // barrier: body_sum has read them before the sums of the next tile overwrite them.
  named_sync<256>(1);
  const int begin = row - wg * kPartRows, tiles = (m + kRows - 1) / kRows;
  if (begin < m) body_sum(body, begin / kRows, tiles, column, n, threadIdx.x % 256, scratch);
  named_sync<256>(1);
}
