// The kernel of a dequantize step (runtime/plan/steps/dequantize.h): floats of codes that are packed in words
// of four bytes. A thread makes the numbers of one word.
// Requires: the prelude; Number, the type of scales and results; kBits; kPerWord, the codes of a word; and
// kValues, the bits of the f32 number of each code. The host's code replaces the word KERNEL by a name.


extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const unsigned char* codes, const Number* scales, const signed char* zeros, Number* y, long long words,
           long long row_words, long long groups, long long codes_stride, long long scales_stride, long long zeros_stride) {
  __shared__ float values[1 << kBits];
  for (int i = threadIdx.x; i < 1 << kBits; i += 256) values[i] = __uint_as_float(kValues[i]);
  __syncthreads();
  const long long word = (long long)blockIdx.x * 256 + threadIdx.x;
  if (word >= words) return;
  const long long row = word / row_words, at = word % row_words, group = at / (row_words / groups);
  const unsigned char* const from = codes + row * codes_stride + 4 * at;
  const unsigned bits = from[0] | (unsigned)from[1] << 8 | (unsigned)from[2] << 16 | (unsigned)from[3] << 24;
  const float scale = sm_get(scales[row * scales_stride + group]);
  const float zero = ZEROS ? (float)zeros[row * zeros_stride + group] : 0.0f;
#pragma unroll
  for (int i = 0; i < kPerWord; ++i) {
    const unsigned code = bits >> (kBits == 8 ? 8 * i : i / 2 * 4 + i % 2 * 16) & (1 << kBits) - 1;
    sm_put(y[kPerWord * word + i], (values[code] - zero) * scale);
  }
}
