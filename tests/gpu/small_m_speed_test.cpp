// How fast matmuls of few rows read their weights, beside cuBLASLt and a copy. By hand:
//
//   build/gpu_tests --gtest_also_run_disabled_tests --gtest_filter='GpuSmallMSpeed.*'
#include <cstdio>
#include <map>

#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/gemm.h"
#include "tests/gpu/small_m.h"

namespace smelt::small_m_test {
namespace {

using cuda::check;
using cuda::driver;

constexpr int64_t kPoolBytes = int64_t{1} << 30;  // of weights, which no cache holds

struct Shape {
  const char* name;
  int64_t n, k;
};
constexpr Shape kShapes[] = {
    {"gpt2-large qkv", 3840, 1280}, {"gpt2-large proj", 1280, 1280},  {"gpt2-large fc", 5120, 1280},
    {"gpt2-large fc2", 1280, 5120}, {"gpt2-large head", 50304, 1280}, {"1B qkv", 3072, 2048},
    {"1B o", 2048, 2048},           {"1B gate+up", 16384, 2048},      {"1B down", 2048, 8192},
    {"1B head", 128256, 2048},      {"8B qkv", 6144, 4096},           {"8B o", 4096, 4096},
    {"8B gate+up", 28672, 4096},    {"8B down", 4096, 14336}};

class GpuSmallMSpeed : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    device_ = &cuda::Device::open();
    stream_ = cuda::make_stream(*device_);
    pool_ = cuda::device_block(*device_, kPoolBytes);
    rows_ = cuda::device_block(*device_, 2 * 64 * 131072),
    results_ = cuda::device_block(*device_, 2 * 64 * 131072);
    workspace_ = cuda::device_block(*device_, cuda::kGemmWorkspace);
    // 0x3c3c is about 0.01 in bf16.
    check(driver().MemsetD8Async(pool_.get(), 0x3c, kPoolBytes, stream_.get()), "test");
    check(driver().MemsetD8Async(rows_.get(), 0x3c, 2 * 64 * 131072, stream_.get()), "test");
    copied_ = cuda::copy_bytes_per_second(*device_, stream_.get());
    std::printf("%s: a copy reads and writes %.0f GB/s\n", device_->info().name.c_str(), copied_ / 1e9);
  }

  static int64_t bytes(const Shape& shape) { return 2 * shape.n * shape.k; }
  /// The i-th matrix of the pool.
  Operands operands(const Shape& shape, int64_t m, int64_t i) const {
    const int64_t count = std::max<int64_t>(1, kPoolBytes / bytes(shape));
    return {rows_.get(),    pool_.get() + static_cast<cuda::DevicePointer>(i % count * bytes(shape)),
            results_.get(), m,
            shape.n,        shape.k};
  }
  static int64_t runs(const Shape& shape) { return std::clamp<int64_t>(kPoolBytes / bytes(shape), 4, 100); }

  /// Of a graph, the least of several.
  double seconds(const std::function<void()>& launches) {
    const cuda::GraphOwner graph = cuda::captured(stream_.get(), launches);
    const cuda::EventOwner begin = cuda::make_event(*device_, true), end = cuda::make_event(*device_, true);
    double least = 1e9;
    for (int run = 0; run < 6; ++run) {
      check(driver().EventRecord(begin.get(), stream_.get()), "timing");
      check(driver().GraphLaunch(graph.get(), stream_.get()), "timing");
      check(driver().EventRecord(end.get(), stream_.get()), "timing");
      check(driver().StreamSynchronize(stream_.get()), "timing");
      if (run > 0) least = std::min(least, cuda::seconds_between(begin.get(), end.get()));
    }
    return least;
  }

  /// Seconds of one run.
  double own(const LoadedSmallM& kernel, const Shape& shape, int64_t m, bool dependent) {
    return seconds([&] {
             for (int64_t i = 0; i < runs(shape); ++i)
               check(kernel.launch(operands(shape, m, i), dependent && i > 0).value().run(stream_.get()),
                     "timing");
           }) /
           static_cast<double>(runs(shape));
  }
  double library(const Shape& shape, int64_t m, cuda::GemmChoices& choices) {
    std::vector<cuda::PreparedGemm> gemms;
    for (int64_t i = 0; i < runs(shape); ++i) {
      const Operands on = operands(shape, m, i);
      gemms.emplace_back(*device_,
                         cuda::GemmSizes{.m = m,
                                         .n = shape.n,
                                         .k = shape.k,
                                         .a = {shape.k, 1},
                                         .b = {1, shape.k},
                                         .c = {shape.n, 1},
                                         .dtype = DType::bf16,
                                         .result_dtype = DType::bf16},
                         on.x, on.weights, on.y, "timing");
      gemms.back().choose(stream_.get(), workspace_.get(), choices);
    }
    return seconds([&] {
             for (cuda::PreparedGemm& gemm : gemms) gemm.run(stream_.get(), workspace_.get());
           }) /
           static_cast<double>(runs(shape));
  }
  /// The kernel that a plan takes.
  static size_t first_for(const std::vector<SmallM>& all, const Shape& shape, int64_t m) {
    size_t one = 0;
    while (all[one].rows < m || shape.n >= all[one].columns_below || shape.k < all[one].least_sums) ++one;
    return one;
  }
  double rate(const Shape& shape, double seconds) const {
    return static_cast<double>(bytes(shape)) / seconds / 1e9;
  }

  const cuda::Device* device_ = nullptr;
  cuda::StreamOwner stream_;
  cuda::DeviceBlock pool_, rows_, results_, workspace_;
  double copied_ = 1;
};

TEST_F(GpuSmallMSpeed, DISABLED_BesideTheLibrary) {
  cuda::GemmChoices choices({}, cuda::GemmPlace::of(*device_));
  const std::vector<SmallM> all = small_m(DType::bf16, DType::bf16, false),
                            chains = small_m_chains(DType::bf16, DType::bf16);
  std::vector<LoadedSmallM> kernels, in_order;
  for (const SmallM& few : all) kernels.emplace_back(few);
  for (const SmallM& few : chains) in_order.emplace_back(few);
  std::printf("%-16s %3s  %27s  %27s  %27s  %20s\n", "GB/s (us, % of a copy)", "m", "own",
              "own, beginning early", "chains, beginning early", "library");
  for (const Shape& shape : kShapes)
    for (const int64_t m : {1, 4, 8, 16}) {
      const size_t one = first_for(all, shape, m);
      const double plain = own(kernels[one], shape, m, false), early = own(kernels[one], shape, m, true),
                   chain = own(in_order[first_for(chains, shape, m)], shape, m, true),
                   other = library(shape, m, choices);
      std::printf("%-22s %3lld", shape.name, static_cast<long long>(m));
      for (const double each : {plain, early, chain, other})
        std::printf("  %6.0f (%7.2f us, %3.0f%%)", rate(shape, each), each * 1e6,
                    1e11 * rate(shape, each) / copied_);
      std::printf("\n");
    }
}

/// Other tiles and depths than plans take.
TEST_F(GpuSmallMSpeed, DISABLED_OfOtherTiles) {
  struct Tiles {
    int weights, depth;
  };
  constexpr Tiles kTiles[] = {{8, 12}, {8, 22}, {16, 6}, {16, 8}, {16, 11}, {32, 3}, {32, 5}};
  for (const int rows : {8, 16})
    for (const Tiles& tiles : kTiles) {
      const SmallM few{
          .result_dtype = DType::bf16, .rows = rows, .weights = tiles.weights, .depth = tiles.depth};
      const CudaSource source{small_m_kernel(few).source, few.name()};
      const CudaResources used = compile_cuda(source, this_gpu()).resources;
      std::printf("%2d rows, %2d weights, depth %2d, %3d registers:", rows, tiles.weights, tiles.depth,
                  used.registers);
      if (!is_lean(used)) {
        std::printf(" spills\n");
        continue;
      }
      const LoadedSmallM kernel(few);
      for (const Shape& shape : kShapes) std::printf(" %5.0f", rate(shape, own(kernel, shape, rows, true)));
      std::printf(" GB/s\n");
    }
}

/// The matmuls of whole models one behind the other, each reading what the last has written.
TEST_F(GpuSmallMSpeed, DISABLED_OfWholeModels) {
  struct Model {
    const char* name;
    int first, count, layers;
  };
  const std::vector<SmallM> all = small_m(DType::bf16, DType::bf16, false);
  for (const Model& model : {Model{"gpt2-large", 0, 4, 36}, {"1B", 5, 4, 16}, {"8B", 10, 4, 32}})
    for (const int64_t m : {1, 8, 16}) {
      std::map<size_t, LoadedSmallM> kernels;
      for (const bool dependent : {false, true}) {
        double moved = 0;
        const double time = seconds([&] {
          moved = 0;
          cuda::DevicePointer at = 0;
          for (int i = 0; i < model.layers * model.count; ++i) {
            const Shape& shape = kShapes[model.first + i % model.count];
            Operands on = operands(shape, m, 0);
            if (at + static_cast<cuda::DevicePointer>(bytes(shape)) > kPoolBytes) at = 0;
            on.weights = pool_.get() + at, at += static_cast<cuda::DevicePointer>(bytes(shape));
            if (i % 2 != 0) std::swap(on.x, on.y);
            moved += static_cast<double>(bytes(shape));
            const size_t one = first_for(all, shape, m);
            const auto [kernel, is_new] = kernels.try_emplace(one, all[one]);
            check(kernel->second.launch(on, dependent && i > 0).value().run(stream_.get()), "timing");
          }
        });
        std::printf("%-10s m %2lld%s: %8.1f us, %5.0f GB/s, %3.0f%% of a copy\n", model.name,
                    static_cast<long long>(m), dependent ? ", beginning early" : "", time * 1e6,
                    moved / time / 1e9, 100 * moved / time / copied_);
      }
    }
}

}  // namespace
}  // namespace smelt::small_m_test
