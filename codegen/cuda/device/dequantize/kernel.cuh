// The kernel of a dequantize step (runtime/plan/steps/dequantize.h): floats of codes that are packed in words
// of four bytes. A thread makes the numbers of kWords words, which are 256 apart, so that the threads of a
// warp read and write neighbouring words.
// Requires: the prelude; Number, the type of scales and results; kBits; kPerWord, the codes of a word; and
// kValues, the bits of the f32 number of each code. The host's code replaces the word KERNEL by a name.

constexpr int kWords = 4;

// Returns the word at an address. aligned: addresses of words are multiples of 4.
SM unsigned word_at(const unsigned char* from, bool aligned) {
  if (aligned) return *(const unsigned*)from;
  return from[0] | (unsigned)from[1] << 8 | (unsigned)from[2] << 16 | (unsigned)from[3] << 24;
}

// The numbers of a word, which are written 8 or 16 bytes at a time.
struct alignas(sizeof(Number) * kPerWord < 16 ? 8 : 16) Numbers {
  Number each[kPerWord];
};

// Writes the numbers. aligned: the address is a multiple of 16.
SM void put_numbers(Number* to, const Numbers& numbers, bool aligned) {
  if (aligned) {
    *(Numbers*)to = numbers;
    return;
  }
#pragma unroll
  for (int i = 0; i < kPerWord; ++i) to[i] = numbers.each[i];
}

SM Numbers numbers_of(unsigned bits, const float* values, float scale, float zero) {
  Numbers numbers;
#pragma unroll
  for (int i = 0; i < kPerWord; ++i) {
    const unsigned code = bits >> (kBits == 8 ? 8 * i : i / 2 * 4 + i % 2 * 16) & (1 << kBits) - 1;
    sm_put(numbers.each[i], (values[code] - zero) * scale);
  }
  return numbers;
}

// a / b of sizes; most fit into 32 bits, whose division is faster.
SM long long quotient(long long a, long long b) {
  return (a | b) >> 32 ? a / b : (long long)((unsigned)a / (unsigned)b);
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const unsigned char* codes, const Number* scales, const signed char* zeros, Number* y, long long words,
           long long row_words, long long groups, long long codes_stride, long long scales_stride, long long zeros_stride) {
  __shared__ float values[1 << kBits];
  for (int i = threadIdx.x; i < 1 << kBits; i += 256) values[i] = __uint_as_float(kValues[i]);
  __syncthreads();
  const bool reads_words = ((unsigned long long)codes | codes_stride) % 4 == 0;
  const bool writes_words = (unsigned long long)y % 16 == 0;
  const long long group_words = row_words / groups;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const long long word = ((long long)blockIdx.x * kWords + i) * 256 + threadIdx.x;
    if (word >= words) return;
    const long long row = quotient(word, row_words), at = word - row * row_words, group = quotient(at, group_words);
    const float zero = ZEROS ? (float)zeros[row * zeros_stride + group] : 0.0f;
    const unsigned bits = word_at(codes + row * codes_stride + 4 * at, reads_words);
    put_numbers(y + kPerWord * word, numbers_of(bits, values, sm_get(scales[row * scales_stride + group]), zero),
                writes_words);
  }
}
