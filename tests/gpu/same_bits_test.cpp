// Products of a plan with same_bits on a GPU: a row has the same bits in products of any number of rows, by
// the kernels for few rows, by the library and by Smelt's kernel, with weights as states, as inputs and as
// bytes.
#include <cstring>

#include "tests/gpu/small_m.h"
#include "tests/support/small_m_epilogues_run.h"

namespace smelt::same_bits {
namespace {

using small_m_epilogues::write_weights;

constexpr int64_t kMost = 700;
constexpr int64_t kCounts[] = {1, 2, 7, 16, 17, 40, 128, kMost};

enum class Weights : uint8_t { state, input, bytes };

/// y[M,n] = x[M,k] w[n,k]^T, for M up to `most`.
std::string text_of(int64_t most, int64_t n, int64_t k, Weights weights) {
  const bool input = weights == Weights::input;
  return fmt::format(
      "symbols M <= {0}\n{3}graph @main(%x: f32[M,{2}]{4}) {{\n{5}"
      "  %y = matmul %x, %w {{spec = \"mk,nk->mn\"}} : f32[M,{1}]\n  return y = %y\n}}\n",
      most, n, k, input ? "" : fmt::format("parameter \"w\" : f32[{},{}]\n", n, k),
      input ? fmt::format(", %w: f32[{},{}]", n, k) : "",
      input ? "" : fmt::format("  %w = parameter \"w\" : f32[{},{}]\n", n, k));
}

struct Example {
  int64_t n, k;
  Weights weights;
  DType storage;

  std::string str() const {
    const char* names[] = {"a state", "an input", "bytes"};
    return fmt::format("n {} k {}, weights are {}, {}", n, k, names[static_cast<size_t>(weights)],
                       name(storage));
  }
};

/// A session of the example's plan for at most `most` rows.
Session session_of(const Example& example, int64_t most, bool fuses) {
  CompileOptions options;
  options.mode = Mode::infer, options.storage = example.storage, options.target = "native";
  options.build.same_bits = true,
  options.weight_type = example.weights == Weights::bytes ? WeightType::int8 : WeightType::floats;
  if (!fuses) options.gemm_epilogues = GemmEpilogues::off;
  return testing::cpu_session(
      compile(parse_module(text_of(most, example.n, example.k, example.weights)), options).plan);
}

class GpuSameBits : public GpuTest {
 protected:
  /// Runs rows `first` to `first + count` - 1 of the inputs.
  static std::vector<double> run(Session& session, const Tensors& all, int64_t first, int64_t count,
                                 int64_t k) {
    Tensors some = all;
    Tensor& x = some.at("x");
    x.shape[0] = count;
    x.data.assign(x.data.begin() + first * k, x.data.begin() + (first + count) * k);
    return testing::run_entry(session, "main", {}, some).at("y").data;
  }

  static void expect_same(const Example& example, uint64_t seed) {
    SCOPED_TRACE(example.str());
    const auto module = parse_module(text_of(kMost, example.n, example.k, example.weights));
    const Graph& graph = *module->graphs.front();
    const Tensors inputs = testing::random_inputs(graph, seed, {{"M", kMost}}),
                  states = testing::random_states(graph, seed, {{"M", kMost}});
    std::vector<double> expected;
    for (const auto& [most, fuses] :
         {std::pair(kMost, true), {kMost, false}, {int64_t{16}, true}, {int64_t{8}, true}}) {
      Session session = session_of(example, most, fuses);
      Tensors stored = states;
      write_weights(session, stored);
      if (expected.empty()) expected = run(session, inputs, 0, kMost, example.k);
      for (const int64_t count : kCounts)
        for (const int64_t first : {int64_t{0}, kMost - count}) {
          if (count > most) continue;
          const std::vector<double> found = run(session, inputs, first, count, example.k);
          ASSERT_EQ(std::memcmp(found.data(), &expected[static_cast<size_t>(first * example.n)],
                                found.size() * sizeof(double)),
                    0)
              << count << " rows from " << first << " on by a plan of at most " << most << " rows"
              << (fuses ? "" : " without fusion");
        }
    }
    EXPECT_TRUE(std::ranges::any_of(expected, [](double y) { return y != 0; }));
  }
};

TEST_F(GpuSameBits, OfARowInAnyNumberOfRows) {
  uint64_t seed = 0;
  for (const DType storage : {DType::bf16, DType::f16})
    for (const Weights weights : {Weights::state, Weights::input, Weights::bytes})
      for (const auto& [n, k] :
           {std::pair(96, 48), {1280, 5120}, {2048, 2048}, {4100, 1552}, {129, 520}, {9000, 272}})
        expect_same({n, k, weights, storage}, ++seed);
}

/// Rows that are no multiples of 16 bytes.
TEST_F(GpuSameBits, OfOddSizes) {
  uint64_t seed = 100;
  for (const DType storage : {DType::bf16, DType::f16})
    for (const auto& [n, k] : {std::pair(131, 197), {1, 33}, {515, 1001}, {4097, 12}})
      expect_same({n, k, Weights::state, storage}, ++seed);
}

/// The kernels for few rows, each by itself, and Smelt's kernel for any sizes.
TEST_F(GpuSameBits, OfAllSmallMKernels) {
  using namespace small_m_test;
  for (const DType result : {DType::bf16, DType::f32}) {
    std::vector<LoadedSmallM> kernels;
    const std::vector<SmallM> all = small_m_chains(DType::bf16, result);
    for (const SmallM& few : all) kernels.emplace_back(few);
    for (const auto& [n, k] : {std::pair(40, 4104), {1280, 5120}, {2048, 8192}, {8000, 264}}) {
      std::mt19937 random(static_cast<unsigned>(n));
      std::normal_distribution<float> normal;
      std::vector<uint16_t> operands(static_cast<size_t>((n + 16) * k));
      for (uint16_t& x : operands) x = to_bf16(normal(random));
      const cuda::Device& device = cuda::Device::open();
      const auto bytes = static_cast<int64_t>(operands.size() * sizeof(uint16_t));
      const cuda::DeviceBlock memory = cuda::device_block(device, bytes),
                              y = cuda::device_block(device, 16 * n * 4);
      cuda::check(
          cuda::driver().MemcpyHtoDAsync(memory.get(), operands.data(), static_cast<size_t>(bytes), nullptr),
          "test");
      std::vector<std::byte> expected;
      for (size_t kernel = kernels.size(); kernel-- > 0;)  // the last one takes any size up to 16 rows
        for (const int64_t m : {16, 9, 8, 3, 1}) {
          const auto launch = kernels[kernel].launch(
              {memory.get(), memory.get() + static_cast<cuda::DevicePointer>(2 * 16 * k), y.get(), m, n, k},
              false);
          if (!launch) continue;
          std::vector<std::byte> found(static_cast<size_t>(m * n * size_of(result)));
          cuda::check(launch->run(nullptr), "test");
          cuda::check(cuda::driver().MemcpyDtoHAsync(found.data(), y.get(), found.size(), nullptr), "test");
          cuda::check(cuda::driver().StreamSynchronize(nullptr), "test");
          if (expected.empty()) expected = found;
          EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0)
              << m << " rows by " << all[kernel].name() << ", n " << n << " k " << k;
        }
    }
  }
}

}  // namespace
}  // namespace smelt::same_bits
