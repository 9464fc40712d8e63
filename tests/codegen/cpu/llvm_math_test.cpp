// The scalar operations as machine code, against double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/codegen/llvm_kernel_builder.h"
#include "tests/codegen/scalar_rows.h"

namespace smelt::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

CompiledKernel compiled(ScalarOp op, const CpuTarget& target = CpuTarget::host()) {
  KernelBuilder b("unary");
  const int c = b.column(Dim::symbol("N"));
  const int x = b.input(), y = b.output();
  b.column_block();
  b.store(y, {{c, 1}}, b.op(op, {b.load(x, {{c, 1}})}));
  b.kernel.schedule.flat = true;
  return CompiledKernel(b.kernel, target);
}

std::vector<float> computed(ScalarOp op, std::vector<float> x, const CpuTarget& target = CpuTarget::host()) {
  std::vector<float> y(x.size(), kNaN);
  compiled(op, target)
      .launch({.buffers = {x.data(), y.data()},
               .symbols = {{"N", static_cast<int64_t>(x.size())}},
               .chunk = static_cast<int64_t>(x.size())});
  return y;
}

/// `count` numbers evenly from low to high, and as many over the exponents of both signs within them.
std::vector<float> sweep(double low, double high, int count = 200000) {
  std::vector<float> x;
  for (int i = 0; i <= count; ++i) x.push_back(static_cast<float>(low + (high - low) * i / count));
  for (int i = 0; i < count; ++i) {
    const float magnitude =
        std::bit_cast<float>(static_cast<uint32_t>(0x00800000u + 0x7F000000ull * i / count));
    for (float v : {magnitude, -magnitude})
      if (v >= low && v <= high) x.push_back(v);
  }
  return x;
}

struct Function {
  ScalarOp op;
  double (*reference)(double);
  double low, high;
  double relative, absolute;
};

std::ostream& operator<<(std::ostream& out, const Function& f) { return out << name(f.op); }

class FunctionTest : public testing::TestWithParam<Function> {};

void expect_close(const Function& f, const std::vector<float>& x, const std::vector<float>& y) {
  double worst = -1;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = f.reference(x[i]);
    const double excess = std::abs(y[i] - expected) / (f.relative * std::abs(expected) + f.absolute + 1e-300);
    if (!(excess <= worst)) worst = excess, where = x[i];
  }
  EXPECT_LE(worst, 1.0) << name(f.op) << "(" << where << ")";
}

TEST_P(FunctionTest, IsAccurateOverItsRange) {
  const std::vector<float> x = sweep(GetParam().low, GetParam().high);
  expect_close(GetParam(), x, computed(GetParam().op, x));
}

/// No fused multiply-add, no rounding instruction, no masked moves.
TEST_P(FunctionTest, IsAccurateOnAPlainProcessor) {
  CpuTarget plain = CpuTarget::host();
  if (plain.triple.find("x86_64") != 0) GTEST_SKIP() << "x86-64 only";
  plain.cpu = "x86-64", plain.features = "+sse2";
  Function loose = GetParam();
  loose.relative *= 2;
  const std::vector<float> x = sweep(loose.low, loose.high, 20000);
  expect_close(loose, x, computed(loose.op, x, plain));
}

const double kTiny = 1.5e-45;  // of a subnormal result one step may be lost

INSTANTIATE_TEST_SUITE_P(
    ScalarOps, FunctionTest,
    testing::Values(
        Function{ScalarOp::exp, std::exp, -86.9, 88.72, 2.5e-7, 0},
        Function{ScalarOp::exp, std::exp, -1e30, -86.9, 0, 1.7e-38},
        Function{ScalarOp::expm1, std::expm1, -50, 88.72, 4e-7, kTiny},
        Function{ScalarOp::log, std::log, 1e-45, 3e38, 3e-7, 3e-8},
        Function{ScalarOp::log, std::log, 0.4, 2.5, 3e-7, 0},
        Function{ScalarOp::log1p, std::log1p, -0.9999, 3e38, 4e-7, kTiny},
        Function{ScalarOp::log1p, std::log1p, -0.5, 1, 4e-7, kTiny},
        Function{ScalarOp::tanh, std::tanh, -12, 12, 4e-7, kTiny},
        Function{ScalarOp::tanh, std::tanh, -1e30, 1e30, 4e-7, kTiny},
        Function{ScalarOp::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -86, 1e30, 5e-7, kTiny},
        Function{ScalarOp::erf, std::erf, -5, 5, 4e-7, kTiny},
        Function{ScalarOp::erfc, std::erfc, -5, 9.1, 6e-7, kTiny},
        Function{ScalarOp::sin, std::sin, -10, 10, 0, 1e-7},
        Function{ScalarOp::sin, std::sin, -1e5, 1e5, 0, 1e-7},
        Function{ScalarOp::sin, std::sin, -0.7, 0.7, 2e-7, kTiny},
        Function{ScalarOp::cos, std::cos, -10, 10, 0, 1e-7},
        Function{ScalarOp::cos, std::cos, -1e5, 1e5, 0, 1e-7},
        Function{ScalarOp::sqrt, std::sqrt, 0, 3e38, 6e-8, 0},
        Function{ScalarOp::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-37, 3e38, 1.3e-7, 0},
        Function{ScalarOp::reciprocal, [](double x) { return 1 / x; }, 1e-37, 1e37, 6e-8, 0},
        Function{ScalarOp::floor, std::floor, -1e6, 1e6, 0, 0},
        Function{ScalarOp::floor, std::floor, -1e30, 1e30, 0, 0},
        Function{ScalarOp::abs, std::fabs, -1e30, 1e30, 0, 0},
        Function{ScalarOp::neg, [](double x) { return -x; }, -1e30, 1e30, 0, 0}));

/// What a library function gives, at the edges: NaN in, NaN out, and no NaN out of infinities without need.
TEST(ScalarMath, EdgesAreThoseOfTheLibrary) {
  const std::vector<float> x = {0.0f,    -0.0f, kInfinity, -kInfinity, kNaN,  1e-40f,
                                -1e-40f, 1000,  -1000,     -1,         3e38f, -3e38f};
  const std::pair<ScalarOp, float (*)(float)> functions[] = {
      {ScalarOp::exp, std::exp},     {ScalarOp::expm1, std::expm1}, {ScalarOp::log, std::log},
      {ScalarOp::log1p, std::log1p}, {ScalarOp::tanh, std::tanh},   {ScalarOp::erf, std::erf},
      {ScalarOp::erfc, std::erfc},   {ScalarOp::sin, std::sin},     {ScalarOp::cos, std::cos},
      {ScalarOp::sqrt, std::sqrt},   {ScalarOp::floor, std::floor}};
  for (const auto& [op, reference] : functions) {
    const std::vector<float> y = computed(op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = reference(x[i]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(y[i])) << name(op) << "(" << x[i] << ") = " << y[i];
      else if (std::isinf(expected) || expected == 0)
        EXPECT_EQ(y[i], expected) << name(op) << "(" << x[i] << ")";
      else
        EXPECT_NEAR(y[i], expected, 1e-6 * std::abs(expected)) << name(op) << "(" << x[i] << ")";
    }
  }
}

TEST(ScalarMath, SinesOfLargeNumbers) {
  for (const double limit : {1e14, 3e38}) {
    const std::vector<float> x = sweep(-limit, limit);
    expect_close({ScalarOp::sin, std::sin, -limit, limit, 0, 1e-7}, x, computed(ScalarOp::sin, x));
    expect_close({ScalarOp::cos, std::cos, -limit, limit, 0, 1e-7}, x, computed(ScalarOp::cos, x));
  }
}

TEST(ScalarMath, SaturatesWithoutOvershooting) {
  for (ScalarOp op : {ScalarOp::tanh, ScalarOp::erf})
    for (float y : computed(op, sweep(-1e30, 1e30))) ASSERT_LE(std::abs(y), 1.0f) << name(op);
  const std::vector<float> y = computed(ScalarOp::sigmoid, {-1000, -kInfinity, 1000, kInfinity, -86});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], 1);
  EXPECT_GT(y[4], 0);
}

/// Every row, on reals and on integers, with NaN and infinities where it is no function of reals.
class ScalarRows : public testing::TestWithParam<std::pair<ScalarOp, DType>> {};

std::vector<std::pair<ScalarOp, DType>> all_rows() {
  std::vector<std::pair<ScalarOp, DType>> rows;
#define SMELT_ROWS(name, ...) \
  for (DType type : {DType::f32, DType::i32}) rows.emplace_back(ScalarOp::name, type);
  SMELT_SCALAR_OPS(SMELT_ROWS)
#undef SMELT_ROWS
  return rows;
}
INSTANTIATE_TEST_SUITE_P(All, ScalarRows, testing::ValuesIn(all_rows()), [](const auto& p) {
  return fmt::format("{}_{}", name(p.param.first), name(p.param.second));
});

/// Numbers as elements of memory, and back.
template <typename T>
void append(std::vector<std::byte>& bytes, double number) {
  const T element = static_cast<T>(number);
  const auto* first = reinterpret_cast<const std::byte*>(&element);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

std::vector<std::byte> bytes_of(const std::vector<double>& numbers, DType type) {
  std::vector<std::byte> bytes;
  for (double number : numbers) switch (type) {
      case DType::boolean:
        append<uint8_t>(bytes, number);
        break;
      case DType::i32:
        append<int32_t>(bytes, number);
        break;
      default:
        append<float>(bytes, number);
    }
  return bytes;
}

double number_at(const std::vector<std::byte>& bytes, DType type, size_t i) {
  const std::byte* element = &bytes[i * size_of(type)];
  if (type == DType::boolean) return static_cast<double>(*element);
  if (type == DType::i32) return *reinterpret_cast<const int32_t*>(element);
  return *reinterpret_cast<const float*>(element);
}

TEST_P(ScalarRows, FollowTheirReference) {
  const auto [op, type] = GetParam();
  const std::vector<Operands> tuples = operand_tuples(op, type);
  const bool real = is_float(type) || info(op).domain == Domain::reals;  // a function of integers is real
  const DType result = info(op).flag ? DType::boolean : real ? DType::f32 : type;
  KernelBuilder b("row");
  const int c = b.column(static_cast<int64_t>(tuples.size()));
  std::vector<std::vector<std::byte>> memory;
  std::vector<int> params, operands;
  for (int i = 0; i < info(op).arity; ++i) {
    std::vector<double> numbers;
    for (const Operands& x : tuples) numbers.push_back(x.at[i]);
    params.push_back(b.input(operand_type(op, type, i)));
    memory.push_back(bytes_of(numbers, operand_type(op, type, i)));
  }
  const int out = b.output(result);
  memory.push_back(bytes_of(std::vector<double>(tuples.size(), 77), result));
  b.column_block();
  for (int param : params) operands.push_back(b.load(param, {{c, 1}}));
  b.store(out, {{c, 1}}, b.op(op, operands, result));
  b.kernel.schedule.flat = true;
  Launch launch{.buffers = {}, .chunk = static_cast<int64_t>(tuples.size())};
  for (std::vector<std::byte>& bytes : memory) launch.buffers.push_back(bytes.data());
  CompiledKernel(b.kernel).launch(launch);
  for (size_t i = 0; i < tuples.size(); ++i) {
    const auto& x = tuples[i].at;
    const auto expected = expected_value(op, result == DType::f32, tuples[i]);
    const double is = number_at(memory.back(), result, i);
    EXPECT_TRUE(!expected || is_close(is, *expected, 1e-6, 2e-7))
        << name(op) << "(" << x[0] << ", " << x[1] << ", " << x[2] << ") = " << is << ", expected "
        << *expected;
  }
}

TEST(ScalarMath, SelectAndSignAndNot) {
  KernelBuilder b("select");
  const int c = b.column(7);
  const int x = b.input(), y = b.output(), s = b.output();
  b.column_block();
  const int u = b.load(x, {{c, 1}});
  const int flag = b.op(ScalarOp::logical_not, {b.op(ScalarOp::lt, {u, b.number(0)})});
  b.store(y, {{c, 1}}, b.op(ScalarOp::select, {flag, u, b.number(-9)}));
  b.store(s, {{c, 1}}, b.op(ScalarOp::sign, {u}));
  std::vector<float> in = {-2, -0.0f, 0, 3, kNaN, kInfinity, -kInfinity}, out(7), sign(7);
  CompiledKernel(b.kernel).launch({.buffers = {in.data(), out.data(), sign.data()}});
  const std::vector<float> expected = {-9, 0, 0, 3, kNaN, kInfinity, -9}, signs = {-1, 0, 0, 1, kNaN, 1, -1};
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(out[i] == expected[i] || (std::isnan(out[i]) && std::isnan(expected[i]))) << i;
    EXPECT_TRUE(sign[i] == signs[i] || (std::isnan(sign[i]) && std::isnan(signs[i]))) << i;
  }
}

}  // namespace
}  // namespace smelt::test
