// An epilogue ("body", codegen/cuda/gemm/gemm_text.h) that only stores the product in C, for the matmul kernel for sm_80
// and later. pitch: elements from one row of C to the next.
// Requires: the macro SM, ../halves.cuh, ../gemm/tiles.cuh, and the type Result of an element of C, which is Half or
// float. Rows of C begin at multiples of 16 bytes.


// Store up to eight adjacent elements: the first `columns`.
SM void put_eight(Half* to, const float (&x)[8], int columns) {
  unsigned w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = pack(x[2 * i], x[2 * i + 1]);
  if (columns >= 8) {
    *(Piece*)to = Piece{{w[0], w[1], w[2], w[3]}};
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < columns) to[i] = (Half)(w[i / 2] >> 16 * (i % 2));
}
SM void put_eight(float* to, const float (&x)[8], int columns) {
  if (columns >= 8) {
    *(Four*)to = Four{x[0], x[1], x[2], x[3]}, *(Four*)(to + 4) = Four{x[4], x[5], x[6], x[7]};
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < columns) to[i] = x[i];
}

struct BodyArguments {
  Result* c;
  long long pitch;
};
struct BodyLoads {};
SM void body_load(const BodyArguments&, int, int, int, int, BodyLoads&) {}
template <class Take>
SM void body_run(const BodyArguments& body, int first, int rows, int c, int columns, const BodyLoads&, Take take, int, int, int,
                 int, unsigned) {
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    float eight[8];
    take(i, eight);
    const int row = first + row_of(i);
    if (row < rows && c < columns) put_eight(body.c + row * body.pitch + c, eight, columns - c);
  }
}
SM void body_sum(const BodyArguments&, int, int, int, int, int, int, unsigned) {}
