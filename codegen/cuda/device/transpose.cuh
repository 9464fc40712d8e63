// The kernel that copies a matrix so that its columns become rows: element (r, c) at from[r * from_pitch + c]
// goes to to[c * to_pitch + r]. A block has a tile of 128 by 128 bytes in shared memory, of which it reads rows
// and writes columns whole. Element is an unsigned integer type of the elements' size. Words are of four
// bytes: kPerWord elements of a row, and after the exchange as many of a column.
// Requires: the type Element. The host's code replaces the word KERNEL by the kernel's name.

constexpr int kPerWord = 4 / sizeof(Element), kSide = 32 * kPerWord, kTilePitch = 33;

// Exchanges rows and columns of a square of kPerWord by kPerWord elements; word i has row i.
static __device__ __forceinline__ void exchange(unsigned (&w)[kPerWord]) {
  if constexpr (kPerWord == 4) {
    const unsigned a = __byte_perm(w[0], w[1], 0x5140), b = __byte_perm(w[2], w[3], 0x5140),
                   c = __byte_perm(w[0], w[1], 0x7362), d = __byte_perm(w[2], w[3], 0x7362);
    w[0] = __byte_perm(a, b, 0x5410), w[1] = __byte_perm(a, b, 0x7632);
    w[2] = __byte_perm(c, d, 0x5410), w[3] = __byte_perm(c, d, 0x7632);
  } else if constexpr (kPerWord == 2) {
    const unsigned low = __byte_perm(w[0], w[1], 0x5410), high = __byte_perm(w[0], w[1], 0x7632);
    w[0] = low, w[1] = high;
  }
}

// Reads kPerWord elements of a row, 0 in place of those that do not exist.
static __device__ __forceinline__ unsigned word_of(const Element* from, long long left, bool whole) {
  if (whole && left >= kPerWord) return *(const unsigned*)from;
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < kPerWord; ++i)
    if (i < left) word |= (unsigned)from[i] << i * 8 * (int)sizeof(Element) % 32;
  return word;
}

static __device__ __forceinline__ void put_word(Element* to, unsigned word, long long left, bool whole) {
  if (whole && left >= kPerWord) {
    *(unsigned*)to = word;
    return;
  }
#pragma unroll
  for (int i = 0; i < kPerWord; ++i)
    if (i < left) to[i] = (Element)(word >> i * 8 * (int)sizeof(Element) % 32);
}

// Reads the words of a tile, a warp a row; `inside`: all of its elements exist, and are read in words.
template <bool inside>
static __device__ __forceinline__ void read_tile(unsigned* tile, const Element* from, long long rows, long long columns,
                                                 long long pitch, bool whole) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned words[kSide / 8];
#pragma unroll
  for (int i = 0; i < kSide / 8; ++i) {
    const long long row = warp + 8 * i, left = columns - lane * kPerWord;
    const Element* const at = from + row * pitch + lane * kPerWord;
    words[i] = inside ? *(const unsigned*)at : row < rows ? word_of(at, left, whole) : 0;
  }
#pragma unroll
  for (int i = 0; i < kSide / 8; ++i) tile[(warp + 8 * i) * kTilePitch + lane] = words[i];
}

// Writes the columns of a tile, each by a warp.
template <bool inside>
static __device__ __forceinline__ void write_tile(const unsigned* tile, Element* to, long long rows, long long columns,
                                                  long long pitch, bool whole) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int word = warp; word < 32; word += 8) {  // kPerWord columns; each lane has as many rows
    unsigned w[kPerWord];
#pragma unroll
    for (int i = 0; i < kPerWord; ++i) w[i] = tile[(lane * kPerWord + i) * kTilePitch + word];
    exchange(w);
#pragma unroll
    for (int i = 0; i < kPerWord; ++i) {
      const long long column = word * kPerWord + i, left = rows - lane * kPerWord;
      Element* const at = to + column * pitch + lane * kPerWord;
      if (inside)
        *(unsigned*)at = w[i];
      else if (column < columns)
        put_word(at, w[i], left, whole);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Element* from, Element* to, long long rows, long long columns, long long from_pitch,
           long long to_pitch) {
  __shared__ unsigned tile[kSide * kTilePitch];
  const unsigned across = (unsigned)((columns + kSide - 1) / kSide);
  const long long row = (long long)(blockIdx.x / across) * kSide, column = (long long)(blockIdx.x % across) * kSide;
  const bool whole_rows = ((unsigned long long)from | from_pitch * sizeof(Element)) % 4 == 0;
  const bool whole_columns = ((unsigned long long)to | to_pitch * sizeof(Element)) % 4 == 0;
  const bool inside = row + kSide <= rows && column + kSide <= columns && whole_rows && whole_columns;
  from += row * from_pitch + column, to += column * to_pitch + row;
  rows -= row, columns -= column;
  if (inside)
    read_tile<true>(tile, from, rows, columns, from_pitch, true);
  else
    read_tile<false>(tile, from, rows, columns, from_pitch, whole_rows);
  __syncthreads();
  if (inside)
    write_tile<true>(tile, to, rows, columns, to_pitch, true);
  else
    write_tile<false>(tile, to, rows, columns, to_pitch, whole_columns);
}
