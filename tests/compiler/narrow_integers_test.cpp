// Arithmetic of 8 and 16 bits through whole plans wraps around in the middle of a kernel as it does in
// memory: bit for bit that of C++ on the CPU, as CUDA text on the host and in the evaluator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate/evaluator.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::narrow_integers {
namespace {

using Values = std::vector<int64_t>;
using Results = std::map<std::string, Values>;

constexpr int64_t kRows = 5, kColumns = 37;

/// Every result is what a kernel goes on with after an operation that may leave the type.
std::unique_ptr<Module> module_of(std::string_view type) {
  const char* text = R"(graph @g(%a: i32[5,37], %b: i32[5,37]) {
  %x = convert %a : TYPE[5,37]
  %y = convert %b : TYPE[5,37]
  %plus = add %x, %y : TYPE[5,37]
  %minus = sub %x, %y : TYPE[5,37]
  %times = mul %x, %y : TYPE[5,37]
  %negative = neg %x : TYPE[5,37]
  %size = abs %minus : TYPE[5,37]
  %is_less = lt %plus, %x : bool[5,37]
  %halves = div %times, %y : TYPE[5,37]
  %most = max %minus, %negative : TYPE[5,37]
  %rows = reduce add %x {axes = [1]} : TYPE[5]
  %columns = reduce add %y {axes = [0]} : TYPE[37]
  %spread = broadcast %rows {axes = [0]} : TYPE[5,37]
  %of_rows = div %spread, %y : TYPE[5,37]
  %less = convert %is_less : i32[5,37]
  %o_halves = convert %halves : i32[5,37]
  %o_most = convert %most : i32[5,37]
  %o_size = convert %size : i32[5,37]
  %o_columns = convert %columns : i32[37]
  %o_of_rows = convert %of_rows : i32[5,37]
  return less = %less, halves = %o_halves, most = %o_most, size = %o_size, columns = %o_columns,
    of_rows = %o_of_rows
})";
  std::string filled = text;
  for (size_t at = 0; (at = filled.find("TYPE", at)) != std::string::npos;) filled.replace(at, 4, type);
  return parse_module(filled);
}

/// Numbers of more bits than the types have; of `b` none that is 0 there.
std::vector<int32_t> numbers(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<int32_t> values;
  for (int64_t i = 0; i < kRows * kColumns; ++i)
    values.push_back(static_cast<int32_t>(random() % 999983) | 1);
  values[0] = -128;
  return values;
}

template <typename T>
Results expected(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  Results all;
  std::vector<T> rows(kRows), columns(kColumns);
  for (size_t i = 0; i < a.size(); ++i) {
    rows[i / kColumns] = static_cast<T>(rows[i / kColumns] + static_cast<T>(a[i]));
    columns[i % kColumns] = static_cast<T>(columns[i % kColumns] + static_cast<T>(b[i]));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const T x = static_cast<T>(a[i]), y = static_cast<T>(b[i]);
    const T plus = static_cast<T>(x + y), minus = static_cast<T>(x - y), negative = static_cast<T>(-x);
    all["less"].push_back(plus < x);
    all["halves"].push_back(static_cast<T>(static_cast<T>(x * y) / y));
    all["most"].push_back(std::max(minus, negative));
    all["size"].push_back(static_cast<T>(std::abs(minus)));
    all["of_rows"].push_back(static_cast<T>(rows[i / kColumns] / y));
  }
  all["columns"].assign(columns.begin(), columns.end());
  return all;
}

Results expected(std::string_view type, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  if (type == "i8") return expected<int8_t>(a, b);
  return type == "u8" ? expected<uint8_t>(a, b) : expected<uint16_t>(a, b);
}

Results results_of(Plan plan, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  Session session(std::make_shared<const Plan>(std::move(plan)), {.threads = 2, .poison = true});
  session.initialize();
  const std::vector<InputTensor> given = {{"a", DType::i32, {kRows, kColumns}, a.data()},
                                          {"b", DType::i32, {kRows, kColumns}, b.data()}};
  Results found;
  for (const HostTensor& host : session.run("g", given))
    found[host.name] = Values(host.as<int32_t>().begin(), host.as<int32_t>().end());
  return found;
}

Results evaluated(const Module& module, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const auto tensor = [](const std::vector<int32_t>& x) {
    return Tensor{DType::i32, {kRows, kColumns}, std::vector<double>(x.begin(), x.end())};
  };
  Results found;
  for (const auto& [name, value] :
       evaluate(*module.graphs.front(), {{"a", tensor(a)}, {"b", tensor(b)}}, {}, {}).outputs)
    found[name] = Values(value.data.begin(), value.data.end());
  return found;
}

class NarrowIntegers : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<int32_t> a = numbers(1), b = numbers(2);
  Results wanted = expected(GetParam(), a, b);
  std::unique_ptr<Module> module = module_of(GetParam());
  CompileOptions options;
};

TEST_P(NarrowIntegers, WrapAroundOnTheCpu) {
  options.mode = Mode::infer;
  EXPECT_EQ(results_of(testing::compiled(*module, options), a, b), wanted);
}

TEST_P(NarrowIntegers, WrapAroundAsCudaText) {
  options.mode = Mode::infer, options.target = "sm_90";
  const Program program = compile(std::move(module), options, Stage::program).program;
  EXPECT_EQ(results_of(test::plan_on_host(program), a, b), wanted);
}

TEST_P(NarrowIntegers, WrapAroundInTheEvaluator) { EXPECT_EQ(evaluated(*module, a, b), wanted); }

INSTANTIATE_TEST_SUITE_P(Types, NarrowIntegers, ::testing::Values("u8", "i8", "u16"),
                         [](const auto& of) { return std::string(of.param); });

/// A table whose last rows an index reaches by wrapping around alone.
TEST(NarrowIndices, StayInsideOfTheirTables) {
  const auto module = parse_module(R"(graph @g(%t: f32[256], %i: i32[3]) {
  %byte = convert %i : u8[3]
  %many = constant {value = 200} : u8[3]
  %sum = add %byte, %many : u8[3]
  %row = convert %sum : i32[3]
  %y = gather %t, %row {axis = 0} : f32[3]
  return y = %y
})");
  CompileOptions options;
  options.mode = Mode::infer;
  Session session(std::make_shared<const Plan>(testing::compiled(*module, options)), {.poison = true});
  session.initialize();
  std::vector<float> table(256);
  std::iota(table.begin(), table.end(), 0.0F);
  const std::vector<int32_t> ids = {1, 56, 255};
  const std::vector<InputTensor> given = {{"t", DType::f32, {256}, table.data()},
                                          {"i", DType::i32, {3}, ids.data()}};
  const auto found = session.run("g", given);
  EXPECT_EQ(std::vector<float>(found[0].as<float>().begin(), found[0].as<float>().end()),
            (std::vector<float>{201, 0, 199}));
}

}  // namespace
}  // namespace smelt::narrow_integers
