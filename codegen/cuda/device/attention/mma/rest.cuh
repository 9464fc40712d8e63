// The rounding residual of O in the forward kernels of attention.
// Requires: tiles.cuh.


// Replaces each result, which is a sum times the scale of its row, by its rounding residual: the result
// minus its 16-bit rounding. Sets the scales to 1.
SM void leave_rest(Sums<kPart / 8>& sums, float (&scales)[kRowTiles][2]) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& sum = sums[r / 2][n][r % 2 * 2 + e];
        sum *= scales[r / 2][r % 2], sum -= low_of(pack(sum, 0.0f));
      }
    scales[r / 2][r % 2] = 1.0f;
  }
}
