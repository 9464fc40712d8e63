// The kernel of a small-M GEMM without a prologue or epilogue: C[m,n] = alpha * A[m,k] B[k,n] + bias[n].
// Each block computes tiles of C, one after the other. A tile has all rows of C and a few columns. The
// function small_m (function.cuh) loops over the tiles and calls the kernel's lambdas.
// Requires: function.cuh or chain.cuh; the type Result of the elements of C; and four macros. ROWS is the most rows of
// A, and KERNEL is the name of the kernel. BIAS_PARAMETER declares the bias, and BIAS adds it; both are empty if there
// is no bias.


extern "C" __global__ void __launch_bounds__(256, 2)
    KERNEL(const Half* a, const Half* b, Result* c, BIAS_PARAMETER long long m_, long long n_, long long k_,
           long long a_pitch_, long long b_pitch, long long c_pitch, float alpha) {
  // Pitches are in elements: a_pitch from one row of A to the next, b_pitch from one column of B to the
  // next, and c_pitch from one row of C to the next.
  extern __shared__ __align__(16) uint4 ring[];
  const int m = (int)m_, n = (int)n_, k = (int)k_, a_pitch = (int)a_pitch_;
  const auto put = [&](int row, int column, const float (&sums)[1], int) {
    sm_put(c[row * c_pitch + column], alpha * sums[0] BIAS);
  };
  small_m(ring, a, a_pitch, b, m, n, k, b_pitch, [] {}, [](int) {}, put);
}
