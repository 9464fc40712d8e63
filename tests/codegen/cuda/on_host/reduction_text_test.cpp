// The texts of every row of reduce_ops.def, those that call device functions and those made of its
// expressions, against the row's reference: CUDA's, and HIP's in hip_kernel_tests.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "codegen/gpu/lower/state_code.h"
#include "codegen/printers/print_statements.h"
#include "ir/evaluate/reduction.h"
#include "runtime/cpu/shared_object.h"
#include "tests/codegen/printed_language.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

struct ReductionForm {
  ReduceOp op;
  DType element;
  bool fast, own_forms;

  gpu::StateCode code() const { return {op, element, fast, own_forms}; }
  std::string name() const {
    return fmt::format("reduce_{}_{}{}{}", smelt::name(op), smelt::name(element), fast ? "_fast" : "",
                       own_forms ? "_own" : "");
  }
};

std::vector<ReductionForm> reduction_forms() {
  std::vector<ReductionForm> forms;
#define SMELT_FORMS(name)                        \
  for (DType element : {DType::f32, DType::i32}) \
    for (bool fast : {false, true})              \
      for (bool own_forms : {false, true}) forms.push_back({ReduceOp::name, element, fast, own_forms});
  SMELT_REDUCE_OPS(SMELT_FORMS)
#undef SMELT_FORMS
  return forms;
}

/// The halves of the elements, each with a state of its own.
using Halves = std::array<gpu::StateCode::State, 2>;

Halves declare_halves(gpu::BodyBuilder& out, const gpu::StateCode& code) {
  const gpu::StateCode::State identity = code.identity();
  Halves halves;
  for (int half : {0, 1})
    for (size_t i = 0; i < code.size(); ++i)
      halves[half].push_back(
          out.declare_changing(code.type(i), fmt::format("{}{}", half == 0 ? "l" : "r", i), identity[i]));
  return halves;
}

/// Reduces the elements before `cut` to the left half, and those after to the right one.
void reduce_halves(gpu::BodyBuilder& out, const gpu::StateCode& code, const Halves& halves) {
  const auto variable = [](const char* name) { return gpu::variable(name, gpu::Scalar::int32); };
  const gpu::Expr i = out.open_loop(gpu::Scalar::int32, "i", 0, variable("count"), 1);
  const gpu::Expr x = gpu::element(gpu::variable("x", gpu::Type(gpu::Scalar::real).pointer_to_const()), i);
  const gpu::Expr e = out.declare(code.type(0), "e", gpu::cast(x, code.type(0)));
  for (int half : {0, 1})
    out.where(half == 0 ? i < variable("cut") : i >= variable("cut"),
              [&] { code.combine(out, halves[half], code.lift(e, i)); });
  out.close();
}

/// `count` elements, cut in two: each half is reduced alone, then the right one joins the left.
std::string function_text(const ReductionForm& form) {
  const gpu::StateCode code = form.code();
  gpu::BodyBuilder out;
  const Halves halves = declare_halves(out, code);
  reduce_halves(out, code, halves);
  code.combine(out, halves[0], halves[1]);
  const gpu::Expr results = gpu::variable("results", gpu::Type(gpu::Scalar::wide_real).pointer_to());
  for (size_t i = 0; i < info(form.op).results.size(); ++i)
    out.set(gpu::element(results, i), gpu::cast(code.finish(halves[0], i), gpu::Scalar::wide_real));
  return fmt::format("extern \"C\" void {}(const float* x, int count, int cut, double* results) {{\n{}}}\n",
                     form.name(), print(kPrinted, out.body(), 1));
}

const SharedObject& compiled_reductions() {
  static const SharedObject object = [] {
    std::string functions;
    for (const ReductionForm& form : reduction_forms()) functions += function_text(form);
    return SharedObject(compile_text_on_host(
        "#pragma GCC visibility push(default)\n#define SM static inline\n" + with_pieces(functions)));
  }();
  return object;
}

template <ReduceOp op>
std::vector<double> reduced(const std::vector<float>& x) {
  using R = Reduction<op, double>;
  auto state = R::identity();
  for (size_t i = 0; i < x.size(); ++i) state = R::combine(state, R::lift(x[i], static_cast<double>(i)));
  const auto results = R::finish(state);
  return {results.begin(), results.end()};
}

std::vector<double> reference(ReduceOp op, const std::vector<float>& x) {
  switch (op) {
#define SMELT_REDUCED(name) \
  case ReduceOp::name:      \
    return reduced<ReduceOp::name>(x);
    SMELT_REDUCE_OPS(SMELT_REDUCED)
#undef SMELT_REDUCED
  }
  return {};
}

class ReductionText : public testing::TestWithParam<ReductionForm> {};
INSTANTIATE_TEST_SUITE_P(All, ReductionText, testing::ValuesIn(reduction_forms()),
                         [](const auto& p) { return p.param.name(); });

/// Whole numbers with ties, which sums keep exactly, wherever they are cut.
TEST_P(ReductionText, FollowsItsReference) {
  const ReductionForm form = GetParam();
  using Function = void (*)(const float*, int, int, double*);
  const auto function = reinterpret_cast<Function>(compiled_reductions().symbol(form.name()));
  const std::vector<float> all = {-2, 3, 1, 3, -4, 0, 2, -4, 1, 3};
  for (size_t count : {4u, 7u, 10u})
    for (size_t cut = 0; cut <= count; ++cut) {
      const std::vector<float> x(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
      const std::vector<double> expected = reference(form.op, x);
      std::vector<double> results(expected.size(), -77);
      function(x.data(), static_cast<int>(count), static_cast<int>(cut), results.data());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(results[i],
                    form.element == DType::i32 && form.code().type(i) == gpu::Scalar::int32
                        ? std::trunc(expected[i])
                        : expected[i],
                    1e-5 * (1 + std::abs(expected[i])))
            << form.name() << ", result " << i << " of " << count << " cut at " << cut;
    }
}

/// What the expressions make of NaN and of infinities is what they make of them in the evaluator.
TEST(ReductionText, ExtremesKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> rows[] = {
      {1, nan, 3, 2}, {-infinity, -infinity, -infinity, -infinity}, {1, infinity, nan, nan}};
  using Function = void (*)(const float*, int, int, double*);
  for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::max_sumexp})
    for (const ReductionForm& form : reduction_forms()) {
      if (form.op != op || form.element != DType::f32) continue;
      for (const std::vector<float>& x : rows) {
        const std::vector<double> expected = reference(op, x);
        std::vector<double> results(expected.size(), -77);
        reinterpret_cast<Function>(compiled_reductions().symbol(form.name()))(x.data(), 4, 2, results.data());
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(results[i] == expected[i] || (std::isnan(results[i]) && std::isnan(expected[i])))
              << form.name() << ", result " << i << ": " << results[i] << ", expected " << expected[i];
      }
    }
}

}  // namespace
}  // namespace smelt::test
