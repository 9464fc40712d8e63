// The whole compiler for a GPU, its kernels run on the host: random graphs against the evaluator, training
// plans of the golden models against the CPU's.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/description.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

using testing::CpuCase;
using testing::expect_cpu_matches;
using testing::random_module;
using testing::random_sizes;

CompileOptions for_gpu() {
  CompileOptions options;
  options.target = "sm_90";
  return options;
}

/// A GPU's kernels as this machine's compiler makes them.
Plan on_host(const Module& module, const CompileOptions& options) {
  return test::plan_on_host(compile(module.clone(), options, Stage::program).program);
}

CpuCase on_host_case(SymbolValues symbols, uint64_t seed) {
  CpuCase c{.symbols = std::move(symbols), .seed = seed};
  c.plan = on_host;
  return c;
}

class CudaOnHost : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CudaOnHost, ForwardGraphs) {
  const auto module = random_module(GetParam() + 500);
  expect_cpu_matches(*module, on_host_case(random_sizes(GetParam()), GetParam() + 1), for_gpu());
}

TEST_P(CudaOnHost, GradientsOfGraphs) {
  auto module = random_module(GetParam() + 1500, {.nodes = 8, .scalar = true});
  differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x"}, .seed = 1});
  expect_cpu_matches(*module, on_host_case(random_sizes(GetParam()), GetParam() + 2), for_gpu());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaOnHost, ::testing::Range<uint64_t>(0, 10));

void expect_text_matches_on_gpu(std::string_view text, std::initializer_list<int64_t> sizes) {
  const auto module = parse_module(text);
  for (int64_t n : sizes) expect_cpu_matches(*module, on_host_case({{"B", 3}, {"N", n}}, 11), for_gpu());
}

TEST(CudaRows, LayerNormAtOddWidths) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 777
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %y = layer_norm %x, %w, %b {eps = 1e-5} : f32[B,N]
  return y = %y
})",
                             {1, 31, 197, 777});
}

TEST(CudaRows, LongRowsAreWalked) {
  expect_text_matches_on_gpu(R"(symbols B <= 3, N <= 250257
graph @main(%x: f32[B,N]) {
  %y = softmax %x : f32[B,N]
  return y = %y
})",
                             {64, 50257});
}

/// Places in a table of 2^30 elements and more do not fit in 32 bits, however short its rows.
TEST(CudaGathers, LargeTablesHaveWideIndices) {
  const auto is_narrow = [](std::string_view table) {
    const auto module = parse_module(fmt::format(R"(symbols N <= 64
graph @main(%t: f32[{0}], %i: i32[N]) {{
  %y = gather %t, %i {{axis = 0}} : f32[N,4096]
  return y = %y
}})",
                                                 table));
    return compile(module->clone(), for_gpu(), Stage::program).program.kernels.at(0).schedule.index32;
  };
  EXPECT_TRUE(is_narrow("32000,4096"));
  EXPECT_FALSE(is_narrow("1000000,4096"));
}

/// Sums whose vectors do not all fit in shared memory at a time.
constexpr const char* kManySums = R"(symbols B <= 40
graph @main(%x: bf16[B,4096], %y: bf16[B,4096], %z: bf16[B,4096]) {
  %xf = convert %x : f32[B,4096]
  %yf = convert %y : f32[B,4096]
  %zf = convert %z : f32[B,4096]
  %a = reduce add %xf {axes = [0]} : f32[4096]
  %p = mul %xf, %yf : f32[B,4096]
  %b = reduce add %p {axes = [0]} : f32[4096]
  %q = mul %zf, %yf : f32[B,4096]
  %c = reduce add %q {axes = [0]} : f32[4096]
  %r = mul %zf, %xf : f32[B,4096]
  %d = reduce max %r {axes = [0]} : f32[4096]
  return a = %a, b = %b, c = %c, d = %d
})";

TEST(CudaTiles, ManySumsAreExchangedInParts) {
  const auto module = parse_module(kManySums);
  for (const int64_t rows : {1, 3, 33, 40})
    expect_cpu_matches(*module, on_host_case({{"B", rows}}, 11), for_gpu());
}

TEST(CudaTiles, ManySumsFitInSharedMemory) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  EXPECT_EQ(compile(parse_module(kManySums), for_gpu()).plan.kernels.size(), 1u);
}

/// `count` times x times a number of its own, each `worked` on ({0}: which one): compared on the host, and
/// compiled where NVRTC is.
void expect_many_work(int count, int64_t columns, std::string_view worked, int64_t rows) {
  std::string body, outputs;
  for (int i = 0; i < count; ++i) {
    body +=
        fmt::format("  %c{0} = constant {{value = {1}}} : f32[B,{2}]\n  %m{0} = mul %x, %c{0} : f32[B,{2}]\n",
                    i, 0.5 + i / 8.0, columns);
    body += fmt::format(fmt::runtime(worked), i, columns);
    outputs += fmt::format("{}r{} = %r{}", i > 0 ? ", " : "", i, i);
  }
  const auto module = parse_module(fmt::format(
      "symbols B <= 77\ngraph @main(%x: f32[B,{}]) {{\n{}  return {}\n}}", columns, body, outputs));
  expect_cpu_matches(*module, on_host_case({{"B", rows}}, 11), for_gpu());
  if (!nvrtc_info().available) return;
  EXPECT_NO_THROW(compile(module->clone(), for_gpu()));
}

/// So many sums that not even one column of all fits.
TEST(CudaTiles, SumsAreExchangedAFewAtATime) {
  expect_many_work(30, 1024,
                   "  %e{0} = sin %m{0} : f32[B,{1}]\n  %r{0} = reduce add %e{0} {{axes = [0]}} : f32[{1}]\n",
                   61);
}

/// Registers cannot hold the exponentials of all.
TEST(CudaRows, ManySoftmaxesOfALongRow) {
  expect_many_work(4, 16384, "  %r{0} = softmax %m{0} : f32[B,{1}]\n", 3);
}

TEST(CudaRows, ManySoftmaxesOfALongNarrowRow) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  std::string body, outputs;
  for (int i = 0; i < 4; ++i) {
    body += fmt::format(
        "  %c{0} = constant {{value = {1}}} : bf16[B,16384]\n  %m{0} = mul %x, %c{0} : bf16[B,16384]\n"
        "  %r{0} = softmax %m{0} : bf16[B,16384]\n",
        i, 0.5 + i / 8.0);
    outputs += fmt::format("{}r{} = %r{}", i > 0 ? ", " : "", i, i);
  }
  const auto module = parse_module(
      fmt::format("symbols B <= 77\ngraph @main(%x: bf16[B,16384]) {{\n{}  return {}\n}}", body, outputs));
  EXPECT_EQ(compile(module->clone(), for_gpu()).plan.kernels.size(), 1u);
}

/// The inverse of a subnormal number is infinite.
TEST(CudaRows, RowsDividedBySubnormalNumbers) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 777
graph @main(%x: f32[B,N]) {
  %c = constant {value = 1e-40} : f32[B,N]
  %s = mul %x, %c : f32[B,N]
  %m = reduce max %s {axes = [1]} : f32[B]
  %d = broadcast %m {axes = [0]} : f32[B,N]
  %y = div %s, %d : f32[B,N]
  return y = %y
})",
                             {31, 777});
}

/// `function` of numbers around 1e-6, in a kernel whose memory is bf16.
void expect_digits_near_zero(std::string_view function) {
  expect_text_matches_on_gpu(fmt::format(R"(symbols B <= 4, N <= 777
graph @main(%x: bf16[B,N]) {{
  %f = convert %x : f32[B,N]
  %c = constant {{value = 1e-6}} : f32[B,N]
  %s = mul %f, %c : f32[B,N]
  %t = {} %s : f32[B,N]
  %i = constant {{value = 1e6}} : f32[B,N]
  %u = mul %t, %i : f32[B,N]
  %y = convert %u : bf16[B,N]
  return y = %y
}})",
                                         function),
                             {31, 777});
}

TEST(CudaMath, ShortTanhKeepsItsDigitsNearZero) { expect_digits_near_zero("tanh"); }
TEST(CudaMath, ShortErfKeepsItsDigitsNearZero) { expect_digits_near_zero("erf"); }

/// `after` of the sine of 2^exponent x, a product without rounding.
void expect_sines_of_large_numbers(int exponent, std::string_view after) {
  expect_text_matches_on_gpu(fmt::format(R"(symbols B <= 4, N <= 777
graph @main(%x: f32[B,N]) {{
  %c = constant {{value = {}}} : f32[B,N]
  %o = constant {{value = 1}} : f32[B,N]
  %s = mul %x, %c : f32[B,N]
  %t = sin %s : f32[B,N]
{}
  return y = %y
}})",
                                         std::ldexp(1, exponent), after),
                             {31, 777});
}

TEST(CudaMath, SinesOfLargeNumbers) { expect_sines_of_large_numbers(44, "  %y = add %t, %o : f32[B,N]"); }

TEST(CudaMath, SinesOfHugeNumbersStayWithinOne) {
  expect_sines_of_large_numbers(90, "  %a = abs %t : f32[B,N]\n  %y = max %a, %o : f32[B,N]");
}

/// A bias whose elements do not lie side by side is copied before a matmul adds it.
TEST(CudaProducts, BiasWithGaps) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 33
graph @main(%x: f32[B,N,16], %w: f32[32,16], %c: f32[32,5]) {
  %s = slice %c {axis = 1, begin = 2} : f32[32,1]
  %b = reshape %s : f32[32]
  %y = linear %x, %w, %b : f32[B,N,32]
  return y = %y
})",
                             {1, 33});
}

/// Exponentials that the maximum's sweep left in registers: beside other operands, and of a row that is one
/// number.
TEST(CudaRows, KeptExponentials) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 777
graph @main(%x: f32[B,N], %y: f32[B,N]) {
  %s = softmax %x : f32[B,N]
  %z = mul %s, %y : f32[B,N]
  return z = %z
})",
                             {1, 31, 777});
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 777
graph @main(%r: f32[B], %y: f32[B,N]) {
  %x = broadcast %r {axes = [0]} : f32[B,N]
  %m, %t = reduce max_sumexp %x {axes = [1]} : f32[B], f32[B]
  %mm = broadcast %m {axes = [0]} : f32[B,N]
  %d = sub %x, %mm : f32[B,N]
  %e = exp %d : f32[B,N]
  %z = mul %e, %y : f32[B,N]
  return z = %z, t = %t
})",
                             {1, 31, 777});
}

/// Decisions drawn at fixed columns, along any axis.
TEST(CudaRows, SamplesOfDroppedValues) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 77
random_ids 1
graph @main(%x: f32[N,5,B]) {
  %r = random {id = 0} : i32[N,5,B]
  %p = constant {value = 20000} : i32[N,5,B]
  %k = ge %r, %p : bool[N,5,B]
  %o = constant {value = 0} : f32[N,5,B]
  %s = select %k, %x, %o : f32[N,5,B]
  %y = reduce pivot %s {axes = [1]} : f32[N,B]
  return y = %y
})",
                             {1, 33, 77});
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 777
random_ids 1
graph @main(%x: f32[B,N,8]) {
  %r = random {id = 0} : i32[B,N,8]
  %p = constant {value = 20000} : i32[B,N,8]
  %k = ge %r, %p : bool[B,N,8]
  %o = constant {value = 0} : f32[B,N,8]
  %s = select %k, %x, %o : f32[B,N,8]
  %y = reduce pivot %s {axes = [2]} : f32[B,N]
  return y = %y
})",
                             {1, 33, 77});
}

/// A sum over all axes, which become one.
TEST(CudaRows, SumsOfDroppedValues) {
  expect_text_matches_on_gpu(R"(symbols B <= 4, N <= 77
random_ids 1
graph @main(%x: f32[N,33]) {
  %r = random {id = 0} : i32[N,33]
  %p = constant {value = 16384} : i32[N,33]
  %k = ge %r, %p : bool[N,33]
  %o = constant {value = 0} : f32[N,33]
  %s = select %k, %x, %o : f32[N,33]
  %t = add %s, %x : f32[N,33]
  %y = reduce add %t {axes = [0, 1]} : f32[]
  return y = %y
})",
                             {1, 33, 77});
}

// ---- training plans

/// Random numbers of an input's type, in the range of its ids.
std::vector<std::byte> random_bytes(const Port& port, int64_t elements, std::mt19937& engine) {
  std::vector<std::byte> bytes(static_cast<size_t>(elements * size_of(port.dtype)));
  for (int64_t i = 0; i < elements; ++i) {
    const auto put = [&](auto value) {
      std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
    };
    const int64_t below = port.ids ? port.ids->below : 2;
    if (port.dtype == DType::f32)
      put(std::normal_distribution<float>()(engine));
    else if (port.dtype == DType::i32)
      put(static_cast<int32_t>(engine() % static_cast<uint64_t>(below)));
    else
      put(static_cast<uint8_t>(1));
  }
  return bytes;
}

std::filesystem::path golden(const char* model) {
  return std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / model;
}

/// All that a session holds after it has run an entry: its outputs and its states.
std::map<std::string, std::vector<float>> after_run(Session& session, const std::string& entry,
                                                    const SymbolValues& symbols) {
  std::mt19937 engine(3);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<InputTensor> inputs;
  for (const Port& port : session.entry(entry).inputs) {
    std::vector<int64_t> shape;
    int64_t elements = 1;
    for (const Dim& dim : port.shape) elements *= shape.emplace_back(dim.evaluate(symbols));
    bytes.push_back(random_bytes(port, elements, engine));
    inputs.push_back({port.name, port.dtype, shape, bytes.back().data()});
  }
  session.set_random(7, 3, 0);
  std::map<std::string, std::vector<float>> all;
  for (const HostTensor& host : session.run(entry, inputs))
    if (host.dtype == DType::f32) all[host.name].assign(host.as<float>().begin(), host.as<float>().end());
  for (const State& state : session.plan().states) {
    if (state.dtype != DType::f32) continue;
    const auto data = session.state(state.name);
    std::vector<float>& values = all[state.name];
    values.resize(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), data.size());
  }
  return all;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference) / (std::sqrt(norm) + 1e-12);
}

class GoldenPlans : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenPlans, TrainAsOnTheCpu) {
  const Description description = read_description(golden(GetParam()));
  CompileOptions cpu, gpu = for_gpu();
  cpu.entries = gpu.entries = {"train_step", "evaluate"};
  cpu.build.dropout = gpu.build.dropout = 0.1;
  Session one = testing::cpu_session(std::move(compile(description, cpu).plan));
  Session two = testing::cpu_session(test::plan_on_host(compile(description, gpu, Stage::program).program));
  for (const std::string& entry : cpu.entries) {
    const SymbolValues symbols = {{"B", 3}, {"T", 13}, {"S", 11}};
    const auto expected = after_run(one, entry, symbols), actual = after_run(two, entry, symbols);
    for (const auto& [name, values] : expected)
      EXPECT_LE(distance(actual.at(name), values), name == "adam.v" ? 1e-3 : 1e-4) << entry << ": " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenPlans,
                         ::testing::Values("gpt2", "bert-multi", "llama-llama3", "t5-gated", "vit-odd",
                                           "gemma2", "bloom"));

/// Squares have twice the relative error of gradients, and 8-bit moments that of a code.
double tolerance(const std::string& state) {
  return state.ends_with(".v") || state.starts_with("adafactor.") || state.starts_with("adamw8bit.") ? 1e-3
                                                                                                     : 1e-4;
}

/// Updates whose norms and scalars are tails, alone and after gradients that were accumulated. Not lion: a
/// rounding of the gradient may change the sign of a direction.
TEST(GoldenUpdates, AreAsOnTheCpu) {
  const Description description = read_description(golden("gpt2"));
  for (const Optimizer optimizer :
       {Optimizer::adamw, Optimizer::lamb, Optimizer::muon, Optimizer::normuon, Optimizer::adafactor,
        Optimizer::schedule_free_adamw, Optimizer::adamw8bit}) {
    SCOPED_TRACE(name(optimizer));
    CompileOptions cpu, gpu = for_gpu();
    for (CompileOptions* options : {&cpu, &gpu}) {
      options->entries = {"train_step", "accumulate", "apply"};
      options->training.optimizer.optimizer = optimizer;
      options->training.optimizer.clip_norm = 0.5;
      options->build.dropout = 0.1;
    }
    Session one = testing::cpu_session(std::move(compile(description, cpu).plan));
    const Program program = compile(description, gpu, Stage::program).program;
    Session two = testing::cpu_session(test::plan_on_host(program));
    for (const char* entry : {"train_step", "accumulate", "apply", "train_step"}) {
      const SymbolValues symbols = {{"B", 3}, {"T", 13}};
      const auto expected = after_run(one, entry, symbols), actual = after_run(two, entry, symbols);
      for (const auto& [name, values] : expected)
        EXPECT_LE(distance(actual.at(name), values), tolerance(name)) << entry << ": " << name;
    }
  }
}

}  // namespace
}  // namespace smelt
