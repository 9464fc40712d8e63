// Sums of two million terms, along every axis: their error is that of a few roundings, as if they were short.
#include <gtest/gtest.h>

#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::long_sums {
namespace {

using testing::CpuCase;

constexpr int64_t kMany = (1 << 21) + 77;
constexpr double kError = 1e-6;

struct SumCase {
  std::string type, axes, result;
};

std::string sum_of(const SumCase& c, std::string_view symbols) {
  return fmt::format(
      "{}graph @g(%x: f32{}) {{\n  %s = reduce add %x {{axes = {}}} : f32{}\n  return s = %s\n}}\n", symbols,
      c.type, c.axes, c.result);
}

Tensor equal_numbers(const Module& module, const SymbolValues& symbols, double number) {
  Tensor x{DType::f32, {}, {}};
  int64_t elements = 1;
  for (const Dim& dim : module.graphs.front()->inputs().front()->result()->shape())
    elements *= x.shape.emplace_back(dim.evaluate(symbols));
  x.data.assign(static_cast<size_t>(elements), static_cast<double>(static_cast<float>(number)));
  return x;
}

double relative_error(double found, double expected) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(found) == std::isnan(expected) && (std::isnan(found) || found == expected) ? 0 : 1;
  return std::abs(found / expected - 1);
}

/// The largest relative error of an output.
double error_at(const Module& module, const CpuCase& c, const Tensor& x, const CompileOptions& options = {}) {
  const auto primitive = module.clone();
  decompose(*primitive->graphs.front(), {});
  const Tensor expected =
      evaluate(*primitive->graphs.front(), {{"x", x}}, {}, {.symbols = c.symbols, .philox = {}})
          .outputs.at("s");
  const Tensor found = testing::run_on_cpu(module, c, {{"x", x}}, {}, options).at("s");
  double worst = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double error = relative_error(found.data[i], expected.data[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/// The same where all inputs are one number.
double error_at(const std::string& text, const SymbolValues& symbols, double number) {
  const auto module = parse_module(text);
  return error_at(*module, {.symbols = symbols}, equal_numbers(*module, symbols, number));
}

const SumCase kSums[] = {
    {"[M,4]", "[0]", "[4]"},      {"[M,21]", "[0]", "[21]"},   {"[M]", "[0]", "[]"},
    {"[M,3]", "[0, 1]", "[]"},    {"[2,M]", "[1]", "[2]"},     {"[2,M,2]", "[1]", "[2,2]"},
    {"[2,M,3]", "[0, 1]", "[3]"}, {"[M,2,2]", "[0]", "[2,2]"}, {"[2,2,M]", "[0, 2]", "[2]"},
};

TEST(LongSums, OfEqualNumbersHaveTheDigitsOfShortOnes) {
  for (const SumCase& c : kSums)
    EXPECT_LT(error_at(sum_of(c, "symbols M <= 4000000\n"), {{"M", kMany}}, 0.1), kError)
        << c.type << " along " << c.axes;
}

TEST(LongSums, OfKnownLength) {
  for (SumCase c : kSums) {
    c.type.replace(c.type.find('M'), 1, std::to_string(kMany));
    EXPECT_LT(error_at(sum_of(c, ""), {}, 0.1), kError) << c.type << " along " << c.axes;
  }
}

/// Few rows may be there although there may be many, and no number of them is a multiple of a short sum's.
TEST(LongSums, OfFewTerms) {
  for (const SumCase& c : kSums)
    for (const int64_t rows : {1, 31, 32, 33, 1023, 1025, 2049, 70001})
      EXPECT_LT(error_at(sum_of(c, "symbols M <= 4000000\n"), {{"M", rows}}, 0.7), kError)
          << c.type << " along " << c.axes << " of " << rows;
}

/// Infinities and NaN are what the terms make of them, in every place of a short sum.
TEST(LongSums, KeepInfinitiesAndNaN) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const SumCase& c : kSums)
    for (const double other : {0.0, kInfinity, -kInfinity, static_cast<double>(NAN)}) {
      const auto module = parse_module(sum_of(c, "symbols M <= 4000000\n"));
      Tensor x = equal_numbers(*module, {{"M", 5000}}, 0.1);
      x.data[0] = kInfinity, x.data[4000] = other;
      EXPECT_LT(error_at(*module, {.symbols = {{"M", 5000}}}, x), kError)
          << c.type << " along " << c.axes << ", " << other;
    }
}

/// The mean of squared distances from the mean, as a graph of two means.
std::string variance_of(const SumCase& c, const std::string& kept) {
  return fmt::format(R"(graph @g(%x: f32{0}) {{
  %n = constant {{value = {1}}} : f32{3}
  %sum = reduce add %x {{axes = {2}}} : f32{3}
  %mean = div %sum, %n
  %wide = broadcast %mean {{axes = {4}}} : f32{0}
  %distance = sub %x, %wide
  %square = mul %distance, %distance
  %squares = reduce add %square {{axes = {2}}} : f32{3}
  %s = div %squares, %n
  return s = %s, mean = %mean
}}
)",
                     c.type, kMany, c.axes, c.result, kept);
}

TEST(LongSums, OfVariances) {
  const std::string many = std::to_string(kMany);
  for (const auto& [c, kept] : {std::pair(SumCase{"[" + many + ",4]", "[0]", "[4]"}, "[1]"),
                                {SumCase{"[2," + many + "]", "[1]", "[2]"}, "[0]"},
                                {SumCase{"[2," + many + ",2]", "[1]", "[2,2]"}, "[0, 2]"}}) {
    const auto module = parse_module(variance_of(c, kept));
    Tensor x = equal_numbers(*module, {}, 0.1);
    for (size_t i = 0; i < x.data.size(); i += 3) x.data[i] = 0.75;
    EXPECT_LT(error_at(*module, {}, x), kError) << c.type;
  }
}

/// Kernels of a GPU, whose threads have long shares of sums where M is at its bound.
TEST(LongSums, OfAGpusText) {
  CompileOptions options;
  options.target = "sm_90";
  CpuCase on_host{.symbols = {{"M", 33333}}};
  on_host.plan = [](const Module& module, const CompileOptions& given) {
    return test::plan_on_host(compile(module.clone(), given, Stage::program).program);
  };
  for (const SumCase& c : kSums) {
    const auto module = parse_module(sum_of(c, "symbols M <= 4000000\n"));
    const Tensor x = equal_numbers(*module, on_host.symbols, 0.1);
    EXPECT_LT(error_at(*module, on_host, x, options), 2 * kError) << c.type << " along " << c.axes;
  }
}

}  // namespace
}  // namespace smelt::long_sums
