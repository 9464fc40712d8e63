// The kernel that writes the initial values of a state. A state is an array, such as weights, that the
// runtime keeps between runs of a plan (a compiled program). A state consists of segments, which are
// contiguous ranges of elements. Each segment has one distribution, which the struct Row (draws.cuh)
// describes.
// Requires: draws.cuh, and store_f32.cuh or store_bf16.cuh. C++ replaces the words NAME (the kernel's name)
// and TYPE (an element of the state).


// Four elements, which are stored at once.
struct __align__(4 * sizeof(TYPE)) Four { TYPE x[4]; };

// A thread writes one group of four elements, whose random numbers come from one call of draw_words. rows:
// one Row per segment, `count` in all. groups: number of groups in all segments. Binary search finds the
// segment of the thread's group. The four elements are stored at once if all of them exist and the segment
// begins at a multiple of four elements.
extern "C" __global__ void __launch_bounds__(256)
    NAME(TYPE* state, const Row* rows, long long count, long long groups) {
  const long long at = (long long)blockIdx.x * 256 + threadIdx.x;
  if (at >= groups) return;
  long long low = 0, high = count;
  while (high - low > 1) {
    const long long middle = low + (high - low) / 2;
    if (rows[middle].first_group <= at) low = middle;
    else high = middle;
  }
  const Row row = rows[low];
  const long long group = at - row.first_group, first = 4 * group;
  float x[4] = {(float)row.scale, (float)row.scale, (float)row.scale, (float)row.scale};
  // kind: 0 all elements are `scale`, 1 normal distribution, 2 uniform distribution.
  if (row.kind != 0) {
    unsigned words[4];
    draw_words(row.seed, row.id, group, words);
    if (row.kind == 1) draw_normal(words, row.scale, x);
    else draw_uniform(words, row.scale, x);
  }
  TYPE* to = state + row.offset + first;
  if (first + 4 <= row.elements && row.offset % 4 == 0) {
    *(Four*)to = Four{{stored(x[0]), stored(x[1]), stored(x[2]), stored(x[3])}};
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first + i < row.elements) to[i] = stored(x[i]);
}
