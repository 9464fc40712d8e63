// The kernels of sample, their texts compiled for the host, against the CPU's: the same tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/cuda/step_kernels.h"
#include "tests/support/cuda_on_host/host_kernels.h"
#include "tests/support/random_sample.h"

namespace smelt::test {
namespace {

void expect_the_cpus(const HostKernels& kernels, const RandomSample& c) {
  const auto rows = static_cast<size_t>(c.sizes.rows);
  std::vector<int32_t> expected(rows), tokens(rows + 8, -77);
  std::vector<float> expected_logs(rows), logs(rows + 8, -77);
  sample(c.sizes, c.scores.data(), c.numbers.data(), c.integers.data(), expected.data(),
         expected_logs.data());
  EXPECT_EQ(kernels.run({.addresses = {{"scores", address_of(c.scores)},
                                       {"numbers", address_of(c.numbers)},
                                       {"integers", address_of(c.integers)},
                                       {"tokens", address_of(tokens)},
                                       {"log_probabilities", address_of(logs)}},
                         .integers = {{"rows", c.sizes.rows},
                                      {"count", c.sizes.count},
                                      {"row_stride", c.sizes.row_stride},
                                      {"numbers_stride", c.sizes.numbers_stride},
                                      {"integers_stride", c.sizes.integers_stride}}}),
            1);
  for (size_t row = 0; row < rows; ++row) {
    EXPECT_EQ(tokens[row], expected[row])
        << "row " << row << " of " << c.sizes.count << " words, temperature " << c.numbers[3 * row]
        << ", top_p " << c.numbers[3 * row + 1] << ", min_p " << c.numbers[3 * row + 2] << ", top_k "
        << c.integers[4 * row];
    const bool both_none = std::isnan(logs[row]) && std::isnan(expected_logs[row]);
    EXPECT_TRUE(both_none || logs[row] == expected_logs[row]) << logs[row] << " " << expected_logs[row];
  }
  EXPECT_TRUE(std::all_of(tokens.end() - 8, tokens.end(), [](int32_t token) { return token == -77; }));
  EXPECT_TRUE(std::all_of(logs.end() - 8, logs.end(), [](float log) { return log == -77; }));
}

/// With fewer threads there are fewer bins and shorter lists, which fill up; and fibers take less time.
std::vector<KernelCode> narrow(std::vector<KernelCode> kernels) {
  constexpr int kThreads = 128;
  for (KernelCode& kernel : kernels) {
    replace_text(kernel.source, "kThreads = 1024;", fmt::format("kThreads = {};", kThreads));
    kernel.threads = kThreads;
  }
  return kernels;
}

TEST(CudaSample, IsTheCpus) {
  const HostKernels kernels(narrow(sample_kernels(80)));
  uint32_t seed = 0;
  for (const int64_t count : {0, 1, 2, 3, 31, 33, 197, 777, 1024, 2049, 5003})
    expect_the_cpus(kernels, {100, count, ++seed, 3});
}

TEST(CudaSample, OfClustersIsTheCpus) {
  const HostKernels kernels(narrow(sample_kernels(90)));
  uint32_t seed = 100;
  expect_the_cpus(kernels, {10, 8191, ++seed});
  for (const int64_t count : {8192, 8193, 20001}) expect_the_cpus(kernels, {25, count, ++seed, 1});
}

TEST(CudaSample, OfAVocabularyIsTheCpus) {
  const HostKernels kernels(sample_kernels(90));
  expect_the_cpus(kernels, {3, 5003, 200});
  expect_the_cpus(kernels, {4, 128256, 201});
  expect_the_cpus(kernels, {1, 140000, 202});  // more than shared memory holds
  expect_the_cpus(kernels, {17, 90001, 203});  // the same, by blocks that share many rows
}

}  // namespace
}  // namespace smelt::test
