// Special values and large numbers through whole plans on the CPU: every element is within the derived bound.
#include "passes/graph/autodiff/differentiate.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::differences_at, testing::expect_none;

/// Rows whose largest elements are far above the others, some of them equal.
const std::vector<double> kScores = {
    1e10,  1.2345678e10, 1.2345678e10, 3,     1e7,   1.0000001e7, 1.0000003e7, 2,
    1.7e8, 1.7e8,        1e3,          2,     3.3e9, 3.3e9,       3.3e9,       3.3e9,
    -1e10, -1e10,        -2e10,        -1e10, 300,   301,         299.5,       0.25};

/// A softmax of products, whose backward computes the products again, in a kernel of its own.
std::unique_ptr<Module> softmax_of_products(const std::string& function) {
  auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,4], %t: f32[B,4], %k: i32[B]) {
  %c = constant {value = 0.3} : f32[B,4]
  %y = mul %x, %c : f32[B,4]
)" + function + R"(
  %z = mul %p, %t : f32[B,4]
  %loss = reduce add %z {axes = [0, 1]} : f32[]
  return loss = %loss, p = %p
})");
  differentiate(*module->graphs[0], {"loss", {"x"}, 1});
  return module;
}

/// Four rows %x of short and long lengths, of which three have -inf, NaN and inf.
void expect_none_with_special_rows(const Module& module) {
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 4}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module.graphs[0], 5, c.symbols, 4);
    std::vector<double>& x = inputs.at("x").data;
    x[0] = -INFINITY, x[length + 1] = NAN, x[2 * length + 2] = INFINITY;
    expect_none(differences_at(module, c, inputs, {}), module);
  }
}

TEST(SpecialValues, TheLargestScoreIsSubtractedExactly) {
  for (const char* function : {"  %p = softmax %y : f32[B,4]", "  %p = log_softmax %y : f32[B,4]",
                               "  %l = cross_entropy %y, %k {label_smoothing = 0.1} : f32[B]\n  %p = "
                               "broadcast %l {axes = [0]} : f32[B,4]"}) {
    const auto module = softmax_of_products(function);
    const testing::CpuCase c{.symbols = {{"B", 6}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    inputs.at("x").data = kScores;
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// The deviation of a row with an infinity is NaN, its sum and its mean are not.
TEST(SpecialValues, SumsBesideDeviationsKeepInfinities) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,9]) {
  %sum = reduce add %x {axes = [1]} : f32[B]
  %n = constant {value = 9.0} : f32[B]
  %mean = div %sum, %n : f32[B]
  %means = broadcast %mean {axes = [0]} : f32[B,9]
  %d = sub %x, %means : f32[B,9]
  %q = mul %d, %d : f32[B,9]
  %square = reduce add %q {axes = [1]} : f32[B]
  %deviation = sqrt %square : f32[B]
  return sum = %sum, mean = %mean, deviation = %deviation
})");
  const testing::CpuCase c{.symbols = {{"B", 5}}};
  Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  inputs.at("x").data[0] = -kInfinity;
  inputs.at("x").data[9 + 5] = kInfinity;
  inputs.at("x").data[18 + 2] = kInfinity, inputs.at("x").data[18 + 3] = -kInfinity;
  expect_none(differences_at(*module, c, inputs, {}), *module);
}

/// The maximum that a softmax shares with another reader is an infinity where there is one, and NaN where
/// there is NaN.
TEST(SpecialValues, MaximaBesideASoftmaxKeepInfinities) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T]) {
  %m = reduce max %x {axes = [1]} : f32[B]
  %p = softmax %x : f32[B,T]
  return m = %m, p = %p
})");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 6}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    const auto row = [&](int64_t i) { return inputs.at("x").data.data() + i * length; };
    row(1)[1] = kInfinity;
    row(2)[0] = NAN;
    row(3)[0] = kInfinity, row(3)[length - 1] = NAN;
    row(4)[length - 1] = -kInfinity;
    std::fill_n(row(5), length, -kInfinity);
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// NaN passes a rectifier, and so does its gradient, which backward reads off the result.
TEST(SpecialValues, GradientsOfRectifiersPassNaN) {
  const auto module = parse_module(R"(symbols B <= 8
parameter "w" {init = normal(0.5)} : f32[8,3]
graph @g(%x: f32[B,3], %t: f32[B,8]) {
  %w = parameter "w" : f32[8,3]
  %zero = constant {value = 0.0} : f32[B,3]
  %cut = le %x, %zero : bool[B,3]
  %r = select %cut, %zero, %x : f32[B,3]
  %y = matmul %r, %w {spec = "bc,oc->bo"} : f32[B,8]
  %z = mul %y, %t : f32[B,8]
  %loss = reduce add %z {axes = [0, 1]} : f32[]
  return loss = %loss, y = %y
})");
  differentiate(*module->graphs[0], {"loss", {"x"}, 1});
  const testing::CpuCase c{.symbols = {{"B", 2}}};
  Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
  inputs.at("x").data = {NAN, 1, -1, INFINITY, -INFINITY, 0};
  expect_none(differences_at(*module, c, inputs, testing::random_states(*module->graphs[0], 5, c.symbols)),
              *module);
}

/// A sum of squares that is made of the row's sum, and the sum of its squares, keeps infinities; quotients
/// are squared, not their parts, which may overflow.
TEST(SpecialValues, SumsOfSquaresBesideASoftmaxKeepInfinities) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %z: f32[B,T]) {
  %l = log_softmax %x : f32[B,T]
  %q = mul %l, %l : f32[B,T]
  %squares = reduce add %q {axes = [1]} : f32[B]
  %w = div %l, %z : f32[B,T]
  %r = mul %w, %w : f32[B,T]
  %weighted = reduce add %r {axes = [1]} : f32[B]
  %k = log_softmax %z : f32[B,T]
  %lk = mul %l, %k : f32[B,T]
  %products = reduce add %lk {axes = [1]} : f32[B]
  return squares = %squares, weighted = %weighted, products = %products
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 4}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    std::vector<double>&x = inputs.at("x").data, &z = inputs.at("z").data;
    x[0] = -INFINITY;
    x[length + 1] = -1e30, z[length + 1] = 1e30;
    x[2 * length] = NAN;
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// What cancels by algebra is 0 for finite numbers alone.
TEST(SpecialValues, SumsOfDeviationsAreNaNWhereTheRowIs) {
  auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %r: f32[B]) {
  %sum = reduce add %x {axes = [1]} : f32[B]
  %ones = constant {value = 1.0} : f32[B,T]
  %count = reduce add %ones {axes = [1]} : f32[B]
  %mean = div %sum, %count : f32[B]
  %means = broadcast %mean {axes = [0]} : f32[B,T]
  %d = sub %x, %means : f32[B,T]
  %s = reduce add %d {axes = [1]} : f32[B]
  %rs = broadcast %r {axes = [0]} : f32[B,T]
  %z = mul %d, %rs : f32[B,T]
  %loss = reduce add %z {axes = [0, 1]} : f32[]
  return s = %s, loss = %loss
})");
  differentiate(*module->graphs[0], {"loss", {"r"}, 1});
  expect_none_with_special_rows(*module);
}

/// Elements are infinite where the row's mean square, whose root they are divided by, is: 0 times them is
/// NaN.
TEST(SpecialValues, DifferencesThatCancelAreNaNWhereElementsAre) {
  auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %w: f32[T]) {
  %y = rms_norm %x, %w {eps = 0.001} : f32[B,T]
  %d = sub %y, %y : f32[B,T]
  %z = rms_norm %d, %w {eps = 0.001} : f32[B,T]
  %s = reduce add %d {axes = [1]} : f32[B]
  return z = %z, s = %s
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 4}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    std::vector<double>& x = inputs.at("x").data;
    x[0] = -INFINITY, x[length + 1] = NAN, x[2 * length + 2] = 1e18;
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// A factor that is constant along the row leaves a sum only where infinities of both signs cannot come of
/// it.
TEST(SpecialValues, FactorsOfSumsMayBeZeroOrInfinite) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %y: f32[B,T], %r: f32[B]) {
  %rs = broadcast %r {axes = [0]} : f32[B,T]
  %q = div %x, %rs : f32[B,T]
  %quotients = reduce add %q {axes = [1]} : f32[B]
  %p = mul %x, %rs : f32[B,T]
  %products = reduce add %p {axes = [1]} : f32[B]
  %s = reduce add %y {axes = [1]} : f32[B]
  %ss = broadcast %s {axes = [0]} : f32[B,T]
  %u = mul %x, %ss : f32[B,T]
  %scaled = reduce add %u {axes = [1]} : f32[B]
  %v = div %x, %ss : f32[B,T]
  %shares = reduce add %v {axes = [1]} : f32[B]
  return quotients = %quotients, products = %products, scaled = %scaled, shares = %shares
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 5}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    inputs.at("r").data = {0, INFINITY, -0.0, 2, NAN};
    std::fill_n(inputs.at("x").data.begin(), length, 1);
    std::vector<double>& y = inputs.at("y").data;
    y[0] = INFINITY, y[length] = -INFINITY, y[2 * length] = NAN;
    std::fill_n(y.begin() + 3 * length, length, 0);
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// 1 / s^2 is 0 in float32 where x / s^2 is not.
TEST(SpecialValues, LargeSumsDivideTwice) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T]) {
  %s = reduce add %x {axes = [1]} : f32[B]
  %ss = broadcast %s {axes = [0]} : f32[B,T]
  %p = div %x, %ss : f32[B,T]
  %q = div %p, %ss : f32[B,T]
  %t = reduce add %q {axes = [1]} : f32[B]
  return t = %t
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 2}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    std::vector<double>& x = inputs.at("x").data;
    std::fill_n(x.begin(), length, 1), x[0] = 1e30;
    std::fill_n(x.begin() + length, length, 0.5);
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// A part of a gradient that cancels is NaN where x is, also where nothing else of x is added to it.
TEST(SpecialValues, GradientsThatCancelAreNaNBesideOtherValues) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %y: f32[B,T]) {
  %sum = reduce add %x {axes = [1], phase = backward} : f32[B]
  %ones = constant {value = 1.0, phase = backward} : f32[B,T]
  %count = reduce add %ones {axes = [1], phase = backward} : f32[B]
  %mean = div %sum, %count {phase = backward} : f32[B]
  %means = broadcast %mean {axes = [0], phase = backward} : f32[B,T]
  %d = sub %x, %means {phase = backward} : f32[B,T]
  %s = reduce add %d {axes = [1], phase = backward} : f32[B]
  %ss = broadcast %s {axes = [0], phase = backward} : f32[B,T]
  %z = add %y, %ss {phase = backward} : f32[B,T]
  return z = %z
})");
  expect_none_with_special_rows(*module);
}

/// A norm of x / s has the squares of quotients, where those of x overflow.
TEST(SpecialValues, QuotientsOfLargeNumbersHaveNorms) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %w: f32[T], %v: f32[T]) {
  %s = reduce add %x {axes = [1]} : f32[B]
  %half = constant {value = 0.5} : f32[B]
  %size = abs %s : f32[B]
  %above = add %size, %half : f32[B]
  %ss = broadcast %above {axes = [0]} : f32[B,T]
  %p = div %x, %ss : f32[B,T]
  %y = layer_norm %p, %w, %v {eps = 0.001} : f32[B,T]
  %q = mul %p, %p : f32[B,T]
  %t = reduce add %q {axes = [1]} : f32[B]
  return y = %y, t = %t
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 2}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    inputs.at("x").data[1] = 1e30;
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// A row value that no element of the row is multiplied by may be infinite.
TEST(SpecialValues, UnselectedRowValuesMayBeInfinite) {
  const auto module = parse_module(R"(symbols B <= 8, T <= 800
graph @g(%x: f32[B,T], %y: f32[B,T], %k: i32[B]) {
  %s = reduce add %x {axes = [1]} : f32[B]
  %ss = broadcast %s {axes = [0]} : f32[B,T]
  %zero = constant {value = 0.0} : f32[B,T]
  %some = gt %y, %zero : bool[B,T]
  %c = select %some, %ss, %y : f32[B,T]
  %products = mul %ss, %y : f32[B,T]
  %d = select %some, %products, %zero : f32[B,T]
  %place = iota {axis = 1} : i32[B,T]
  %ks = broadcast %k {axes = [0]} : i32[B,T]
  %hit = eq %place, %ks : bool[B,T]
  %e = select %hit, %c, %zero : f32[B,T]
  %f = select %hit, %d, %zero : f32[B,T]
  %first = reduce add %c {axes = [1]} : f32[B]
  %second = reduce add %d {axes = [1]} : f32[B]
  %third = reduce add %e {axes = [1]} : f32[B]
  %fourth = reduce add %f {axes = [1]} : f32[B]
  return first = %first, second = %second, third = %third, fourth = %fourth
})");
  for (int64_t length : {3, 64, 700}) {
    const testing::CpuCase c{.symbols = {{"B", 4}, {"T", length}}};
    Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
    inputs.at("k").data = {1, 0, -100, 1};
    std::vector<double>&x = inputs.at("x").data, &y = inputs.at("y").data;
    for (int64_t row : {0, 1, 2}) x[row * length] = INFINITY;
    std::fill_n(y.begin(), length, -1);
    y[length] = -2, y[length + 1] = 3;
    std::fill_n(y.begin() + 2 * length, length, -1);
    expect_none(differences_at(*module, c, inputs, {}), *module);
  }
}

/// Losses of smoothed labels, and sums of log-probabilities, at rows with common offsets, masks and
/// infinities.
TEST(SpecialValues, SumsBelowTheLargestScore) {
  const auto module = parse_module(R"(symbols B <= 16
graph @g(%x: f32[B,200], %t: f32[B,200], %k: i32[B]) {
  %n = neg %x : f32[B,200]
  %up = cross_entropy %x, %k {label_smoothing = 0.1, ignore_index = -100} : f32[B]
  %down = cross_entropy %n, %k {label_smoothing = 0.1, ignore_index = -100} : f32[B]
  %l = log_softmax %x : f32[B,200]
  %sum = reduce add %l {axes = [1]} : f32[B]
  %w = mul %l, %t : f32[B,200]
  %weighted = reduce add %w {axes = [1]} : f32[B]
  return up = %up, down = %down, sum = %sum, weighted = %weighted
})");
  const std::vector<double> offsets = {0, 1e4, -1e4, 1e7, -1e7, 0, 0, 0, 0, 0, 0};
  const std::vector<double> masks = {1, 1, 1, 1, 1, -1e9, 1e9, -1e4, INFINITY, -INFINITY, NAN};
  const testing::CpuCase c{.symbols = {{"B", static_cast<int64_t>(masks.size())}}};
  Tensors inputs = testing::random_inputs(*module->graphs[0], 5, c.symbols, 4);
  std::vector<double>&x = inputs.at("x").data, &t = inputs.at("t").data;
  for (size_t row = 0; row < masks.size(); ++row) {
    for (size_t i = 0; i < 200; ++i) x[200 * row + i] += offsets[row];
    if (masks[row] == 1) continue;
    std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(200 * row), 4, masks[row]);
    std::fill_n(t.begin() + static_cast<std::ptrdiff_t>(200 * row), 4, 0);
  }
  expect_none(differences_at(*module, c, inputs, {}), *module);
}

/// A row without elements has nothing that it could be shifted by.
TEST(SpecialValues, RowsMayBeEmpty) {
  const auto module = parse_module(R"(symbols T <= 8
graph @g(%x: f32[T]) {
  %y = slice %x {axis = 0, begin = 1} : f32[T - 1]
  %p = log_softmax %y : f32[T - 1]
  %s = reduce add %p {axes = [0]} : f32[]
  return s = %s
})");
  for (int64_t length : {1, 2, 8}) testing::expect_cpu_matches(*module, {.symbols = {{"T", length}}});
}

/// There is no window where there is no element, and its gradient has no elements.
TEST(SpecialValues, WindowsMayBeNone) {
  const auto module = parse_module(R"(symbols T <= 8
graph @g(%x: f32[T,2]) {
  %y = slice %x {axis = 0, begin = 1} : f32[T - 1,2]
  %z = mul %y, %y : f32[T - 1,2]
  %w = windows %z {axis = 0, size = 2, step = 3} : f32[ceil_div(T - 2, 3),2,2]
  %loss = reduce add %w {axes = [0, 1, 2]} : f32[]
  return loss = %loss
})");
  differentiate(*module->graphs[0], {"loss", {"x"}, 1});
  for (int64_t length : {1, 2, 3, 4, 8}) testing::expect_cpu_matches(*module, {.symbols = {{"T", length}}});
}

}  // namespace
}  // namespace smelt
