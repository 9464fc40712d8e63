// Exchanges by which the lanes of the matmul kernel for sm_80 and later get adjacent elements of the product.
// Requires: sizes.cuh and ../halves.cuh.


// Writes eight adjacent elements of one row of the product, rounded to 16 bits, to `result`. Their columns
// are 8 * (lane & 3) to 8 * (lane & 3) + 7 of a group of 32 columns; `group` is the number of the group.
// sums: the lane's part of an accumulator fragment, which has only two of each 8 columns. So every four
// adjacent lanes exchange elements, and all lanes of a warp call it. upper: 0 for the lane's first row, 1 for
// its second.
template <int n>
SM void take_eight(float (&result)[8], const float (&sums)[n], int group, int upper) {
  unsigned w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = 4 * (4 * group + i) + 2 * upper;
    w[i] = pack(sums[at], sums[at + 1]);
  }
  transpose_quad(w);
#pragma unroll
  for (int i = 0; i < 4; ++i) result[2 * i] = low_of(w[i]), result[2 * i + 1] = high_of(w[i]);
}
// The bits of a sum.
SM unsigned bits_of(float x) { return __float_as_uint(x); }
SM unsigned bits_of(int x) { return (unsigned)x; }
SM void set_bits(float& x, unsigned bits) { x = __uint_as_float(bits); }
SM void set_bits(int& x, unsigned bits) { x = (int)bits; }
// Writes eight adjacent elements of one row of the product to `result`, like take_eight, but does not round them.
template <int n>
SM void take_eight_unrounded(Sum (&result)[8], const Sum (&sums)[n], int group, int upper) {
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = bits_of(sums[4 * (4 * group + i) + 2 * upper + e]);
    transpose_quad(w);
#pragma unroll
    for (int i = 0; i < 4; ++i) set_bits(result[2 * i + e], w[i]);
  }
}
// Sums of bytes are never rounded.
template <int n>
SM void take_eight(int (&result)[8], const int (&sums)[n], int group, int upper) { take_eight_unrounded(result, sums, group, upper); }
