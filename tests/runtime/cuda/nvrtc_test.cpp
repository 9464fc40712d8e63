// NVRTC on machines that have it; a GPU is not needed.
#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
    ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("SMELT_CACHE_DIR"); }
  TemporaryDirectory cache_;
};

constexpr const char* kDouble =
    "// a comment\nextern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }\n";

TEST_F(NvrtcTest, MakesMachineCodeAndKeepsIt) {
  const Cubin made = compile_cuda(CudaSource{kDouble, "twice"}, 90);
  EXPECT_FALSE(made.from_cache);
  ASSERT_GT(made.bytes.size(), 100u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(made.bytes.data()) + 1, 3), "ELF");
  EXPECT_GT(made.resources.registers, 0);
  EXPECT_TRUE(is_lean(made.resources));
  const std::string other_comment = std::string("// another\n") + (kDouble + 13);
  const Cubin kept = compile_cuda(CudaSource{other_comment, "twice"}, 90);
  EXPECT_TRUE(kept.from_cache) << "comments do not matter";
  EXPECT_EQ(kept.bytes, made.bytes);
  EXPECT_FALSE(compile_cuda(CudaSource{kDouble, "twice"}, 80).from_cache) << "another architecture";
}

TEST_F(NvrtcTest, ADamagedEntryIsMadeAgain) {
  const Cubin made = compile_cuda(CudaSource{kDouble, "twice"}, 90);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache_.path())) {
    if (!entry.is_regular_file()) continue;
    std::string bytes = read_text_file(entry.path());
    bytes[bytes.size() / 2] ^= 1;
    write_file(entry.path(), bytes);
  }
  const Cubin again = compile_cuda(CudaSource{kDouble, "twice"}, 90);
  EXPECT_FALSE(again.from_cache);
  EXPECT_EQ(again.bytes, made.bytes);
  EXPECT_TRUE(compile_cuda(CudaSource{kDouble, "twice"}, 90).from_cache);
}

TEST_F(NvrtcTest, AFailureNamesTheKernelAndShowsTheLog) {
  EXPECT_HAS(
      message_of([] { compile_cuda(CudaSource{"__global__ void k() { nonsense(); }", "k7_map"}, 90); }),
      "kernel k7_map: NVRTC");
  EXPECT_HAS(
      message_of([] { compile_cuda(CudaSource{"__global__ void k() { nonsense(); }", "k7_map"}, 90); }),
      "nonsense");
}

TEST_F(NvrtcTest, AStackFrameIsSeen) {
  const CudaSource source{
      "extern \"C\" __global__ void k(float* x, int i) { volatile float a[64]; a[i % 64] = x[i]; x[0] = a[i "
      "% 7]; }",
      "k"};
  const Cubin cubin = compile_cuda(source, 90);
  EXPECT_FALSE(is_lean(cubin.resources));
  EXPECT_HAS(message_of([&] { require_lean(source, cubin.resources); }), "stack frame");
}

TEST_F(NvrtcTest, ManySourcesComeBackInTheirOrder) {
  std::vector<CudaSource> sources;
  for (int i = 0; i < 6; ++i)
    sources.push_back({fmt::format("extern \"C\" __global__ void k{0}(int* x) {{ x[0] = {0}; }}", i), "k"});
  const std::vector<Cubin> all = compile_cuda(sources, 90);
  for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(all[i].bytes, compile_cuda(sources[i], 90).bytes);
}

}  // namespace
}  // namespace smelt
