// Integers of 64 bits through whole plans, on the CPU and as CUDA text on the host: bit for bit those of C++.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "ir/evaluate/whole_numbers.h"
#include "runtime/base/error.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::wide_integers {
namespace {

using Wide = std::vector<int64_t>;

constexpr std::string_view kText = R"(symbols B <= 4, N <= 5000
graph @g(%x: i32[B,N], %ids: i64[N]) {
  %wide = convert %x : i64[B,N]
  %prime = constant {value = 1000003} : i64[B,N]
  %p = mul %wide, %prime : i64[B,N]
  %q = mul %p, %p : i64[B,N]
  %sum = reduce add %q {axes = [1]} : i64[B]
  %columns = reduce add %q {axes = [0]} : i64[N]
  %most = reduce max %p {axes = [1]} : i64[B]
  %least = reduce min %p {axes = [1]} : i64[B]
  %best, %place = reduce argmax %p {axes = [1]} : i64[B], i32[B]
  %running = scan %q {axis = 1, kind = "add"} : i64[B,N]
  %product = scan %p {axis = 0, kind = "mul"} : i64[B,N]
  %one = constant {value = 997} : i64[B,N]
  %quotient = div %q, %one : i64[B,N]
  %negative = neg %p : i64[B,N]
  %size = abs %p : i64[B,N]
  %sign = sign %p : i64[B,N]
  %zero = constant {value = 0} : i64[B,N]
  %none = div %q, %zero : i64[B,N]
  %is_below = lt %q, %p : bool[B,N]
  %chosen = select %is_below, %q, %p : i64[B,N]
  %cut = convert %p : i32[B,N]
  %byte = convert %p : u8[B,N]
  %float = convert %p : f32[B,N]
  %back = convert %float : i64[B,N]
  %ids32 = convert %ids : i32[N]
  %picked = gather %columns, %ids32 {axis = 0} : i64[N]
  return sum = %sum, columns = %columns, most = %most, least = %least, best = %best, place = %place,
    running = %running, product = %product, quotient = %quotient, negative = %negative, size = %size,
    sign = %sign, none = %none, chosen = %chosen, cut = %cut, byte = %byte, float = %float, back = %back,
    picked = %picked
}
)";

struct Numbers {
  int64_t rows, columns;
  std::vector<int32_t> x;
  Wide ids;
};

Numbers numbers_of(int64_t rows, int64_t columns) {
  Numbers n{rows, columns, {}, {}};
  std::mt19937_64 random(static_cast<uint64_t>(columns));
  for (int64_t i = 0; i < rows * columns; ++i) n.x.push_back(static_cast<int32_t>(random()));
  n.x[0] = std::numeric_limits<int32_t>::min();
  for (int64_t i = 0; i < columns; ++i) n.ids.push_back(static_cast<int64_t>(random() % columns));
  return n;
}

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

/// What one element becomes.
Wide each(const Numbers& n, const std::function<int64_t(int64_t p, int64_t q)>& function) {
  Wide result;
  for (const int32_t x : n.x) {
    const int64_t p = int64_t{x} * 1000003;
    result.push_back(function(p, static_cast<int64_t>(bits(p) * bits(p))));
  }
  return result;
}

/// `combine` along the rows or along the columns.
Wide reduced(const Numbers& n, const Wide& x, bool rows,
             const std::function<int64_t(int64_t, int64_t)>& combine) {
  Wide result;
  for (int64_t i = 0; i < (rows ? n.rows : n.columns); ++i) {
    int64_t total = rows ? x[i * n.columns] : x[i];
    for (int64_t j = 1; j < (rows ? n.columns : n.rows); ++j)
      total = combine(total, rows ? x[i * n.columns + j] : x[j * n.columns + i]);
    result.push_back(total);
  }
  return result;
}

std::map<std::string, Wide> expected(const Numbers& n) {
  const auto plus = [](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); };
  const Wide p = each(n, [](int64_t p, int64_t) { return p; }),
             q = each(n, [](int64_t, int64_t q) { return q; });
  std::map<std::string, Wide> all{
      {"sum", reduced(n, q, true, plus)},
      {"columns", reduced(n, q, false, plus)},
      {"most", reduced(n, p, true, [](int64_t a, int64_t b) { return std::max(a, b); })},
      {"least", reduced(n, p, true, [](int64_t a, int64_t b) { return std::min(a, b); })},
      {"running", q},
      {"product", p},
      {"quotient", each(n, [](int64_t, int64_t q) { return q / 997; })},
      {"negative", each(n, [](int64_t p, int64_t) { return -p; })},
      {"size", each(n, [](int64_t p, int64_t) { return std::abs(p); })},
      {"sign", each(n, [](int64_t p, int64_t) -> int64_t { return p < 0 ? -1 : p > 0; })},
      {"none", q},
      {"chosen", each(n, [](int64_t p, int64_t q) { return std::min(p, q); })},
      {"cut", each(n, [](int64_t p, int64_t) -> int64_t { return static_cast<int32_t>(p); })},
      {"byte", each(n, [](int64_t p, int64_t) -> int64_t { return static_cast<uint8_t>(p); })},
      {"back", each(n, [](int64_t p, int64_t) { return static_cast<int64_t>(static_cast<float>(p)); })},
  };
  all["float"] = all["back"], all["best"] = all["most"];
  for (int64_t i = 0; i < n.rows * n.columns; ++i) {
    if (i % n.columns > 0) all["running"][i] = plus(all["running"][i - 1], q[i]);
    if (i >= n.columns)
      all["product"][i] = static_cast<int64_t>(bits(all["product"][i - n.columns]) * bits(p[i]));
  }
  for (int64_t row = 0; row < n.rows; ++row)
    all["place"].push_back(std::max_element(&p[row * n.columns], &p[(row + 1) * n.columns]) -
                           &p[row * n.columns]);
  for (const int64_t id : n.ids) all["picked"].push_back(all["columns"][id]);
  return all;
}

Wide as_wide(const HostTensor& host) {
  const auto from = [&](auto span) {
    Wide result;
    for (const auto x : span) result.push_back(static_cast<int64_t>(x));
    return result;
  };
  if (host.dtype == DType::i64) return from(host.as<int64_t>());
  if (host.dtype == DType::f32) return from(host.as<float>());
  return host.dtype == DType::i32 ? from(host.as<int32_t>()) : from(host.as<uint8_t>());
}

void expect_exact(Plan plan, const Numbers& n) {
  Session session(std::make_shared<const Plan>(std::move(plan)), {.threads = 2, .poison = true});
  session.initialize();
  const std::vector<InputTensor> given = {{"x", DType::i32, {n.rows, n.columns}, n.x.data()},
                                          {"ids", DType::i64, {n.columns}, n.ids.data()}};
  const auto wanted = expected(n);
  for (const HostTensor& host : session.run("g", given))
    EXPECT_EQ(as_wide(host), wanted.at(host.name)) << host.name;
}

TEST(WideIntegers, AreThoseOfCppOnTheCpu) {
  for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(3, 37), std::pair(4, 5000)}) {
    CompileOptions options;
    options.mode = Mode::infer;
    expect_exact(testing::compiled(*parse_module(kText), options), numbers_of(rows, columns));
  }
}

TEST(WideIntegers, AreThoseOfCppAsCudaText) {
  for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(3, 37), std::pair(4, 5000)}) {
    CompileOptions options;
    options.mode = Mode::infer, options.target = "sm_90";
    const Program program = compile(parse_module(kText), options, Stage::program).program;
    expect_exact(test::plan_on_host(program), numbers_of(rows, columns));
  }
}

/// Many rows, so that columns are joined by teams of threads.
TEST(WideIntegers, ColumnsOfManyRowsAsCudaText) {
  constexpr std::string_view kColumns = R"(symbols B <= 3000
graph @g(%x: i32[B,24]) {
  %wide = convert %x : i64[B,24]
  %q = mul %wide, %wide : i64[B,24]
  %s = reduce add %q {axes = [0]} : i64[24]
  %f = convert %x : f32[B,24]
  %m = reduce max %f {axes = [0]} : f32[24]
  return s = %s, m = %m
})";
  CompileOptions options;
  options.mode = Mode::infer, options.target = "sm_90";
  Session session(std::make_shared<const Plan>(
                      test::plan_on_host(compile(parse_module(kColumns), options, Stage::program).program)),
                  {.threads = 2, .poison = true});
  session.initialize();
  const Numbers n = numbers_of(3000, 24);
  Wide sums(24);
  for (size_t i = 0; i < n.x.size(); ++i)
    sums[i % 24] = static_cast<int64_t>(bits(sums[i % 24]) + bits(int64_t{n.x[i]} * n.x[i]));
  const std::vector<InputTensor> given = {{"x", DType::i32, {3000, 24}, n.x.data()}};
  for (const HostTensor& host : session.run("g", given))
    if (host.name == "s") {
      EXPECT_EQ(as_wide(host), sums);
    }
}

/// Signed numbers that overflow are undefined in C++: a compiler may take x - 1 < x for true.
TEST(NarrowIntegers, WrapAsCudaText) {
  constexpr std::string_view kText = R"(symbols R <= 8
graph @g(%x: i32[R]) {
  %one = constant {value = 1} : i32[R]
  %less = sub %x, %one : i32[R]
  %least = min %less, %x : i32[R]
  %sum = add %x, %x : i32[R]
  %half = div %sum, %one : i32[R]
  %square = mul %x, %x : i32[R]
  %minus = neg %x : i32[R]
  %size = abs %x : i32[R]
  return least = %least, half = %half, square = %square, minus = %minus, size = %size
})";
  const std::vector<int32_t> x = {INT32_MIN, INT32_MAX, 0, -1, 65537};
  CompileOptions options;
  options.mode = Mode::infer, options.target = "sm_90";
  Session session(std::make_shared<const Plan>(
                      test::plan_on_host(compile(parse_module(kText), options, Stage::program).program)),
                  {.threads = 1, .poison = true});
  session.initialize();
  const std::vector<InputTensor> given = {{"x", DType::i32, {static_cast<int64_t>(x.size())}, x.data()}};
  const std::map<std::string, std::function<int64_t(int64_t)>> expected = {
      {"least", [](int64_t v) { return std::min<int64_t>(static_cast<int32_t>(v - 1), v); }},
      {"half", [](int64_t v) { return v + v; }},
      {"square", [](int64_t v) { return v * v; }},
      {"minus", [](int64_t v) { return -v; }},
      {"size", [](int64_t v) { return std::abs(v); }}};
  for (const HostTensor& host : session.run("g", given)) {
    const auto found = host.as<int32_t>();
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(found[i], static_cast<int32_t>(expected.at(host.name)(x[i]))) << host.name << " of " << x[i];
  }
}

// ---- folding and the evaluator

Tensor evaluated(const std::string& text, const std::vector<double>& x) {
  const auto module = parse_module(text);
  const Tensors inputs{{"x", Tensor{DType::i32, {static_cast<int64_t>(x.size())}, x}}};
  return evaluate(*module->graphs.front(), inputs, {}, {}).outputs.at("y");
}

TEST(WideIntegers, TheEvaluatorWrapsAround) {
  const auto text = [](const char* type, const char* line) {
    return fmt::format("graph @g(%x: i32[2]) {{\n  %w = convert %x : {0}[2]\n  {1}\n  return y = %y\n}}",
                       type, line);
  };
  EXPECT_EQ(evaluated(text("i32", "%y = mul %w, %w : i32[2]"), {65537, -3}).data,
            (std::vector<double>{131073, 9}));
  EXPECT_EQ(evaluated(text("i64", "%y = mul %w, %w : i64[2]"), {65537, -3}).data,
            (std::vector<double>{4295098369, 9}));
  EXPECT_EQ(evaluated(text("u8", "%y = convert %w : i32[2]"), {300, -1}).data,
            (std::vector<double>{44, 255}));
  EXPECT_EQ(evaluated(text("i64", "%y = reduce add %w {axes = [0]} : i64[]"), {INT32_MAX, INT32_MAX}).data,
            (std::vector<double>{4294967294}));
}

TEST(WideIntegers, TheEvaluatorRefusesWhatADoubleDoesNotHold) {
  EXPECT_THROW(evaluated("graph @g(%x: i32[1]) {\n  %w = convert %x : i64[1]\n  %y = mul %w, %w : i64[1]\n"
                         "  return y = %y\n}",
                         {INT32_MAX}),
               Error);
}

TEST(WholeNumbers, WrapAndSaturate) {
  EXPECT_EQ(wrapped(DType::i8, 200), -56);
  EXPECT_EQ(wrapped(DType::u16, -1), 65535);
  EXPECT_EQ(converted_to_integer(DType::f32, DType::i32, 1e20), INT32_MAX);
  EXPECT_EQ(converted_to_integer(DType::f32, DType::i64, -1e30), INT64_MIN);
  EXPECT_EQ(converted_to_integer(DType::i64, DType::i32, 4294967297.0), 1);
  EXPECT_EQ(whole_result(ScalarOp::div, DType::i32, {INT32_MIN, -1, 0}), INT32_MIN);
  EXPECT_EQ(whole_result(ScalarOp::div, DType::i64, {7, 0, 0}), 7);
  EXPECT_FALSE(whole_result(ScalarOp::exp, DType::i64, {7, 0, 0}));
}

}  // namespace
}  // namespace smelt::wide_integers
