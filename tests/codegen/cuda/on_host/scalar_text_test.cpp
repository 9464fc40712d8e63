// The texts of every row of scalar_ops.def, of flags, integers and reals, precise and fast, against the row's
// reference: CUDA's, and HIP's in hip_kernel_tests.
#include <gtest/gtest.h>

#include "codegen/gpu/lower/scalar_values.h"
#include "codegen/printers/print_expression.h"
#include "runtime/cpu/shared_object.h"
#include "tests/codegen/printed_language.h"
#include "tests/codegen/scalar_rows.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

/// One way in which a row becomes text.
struct Form {
  ScalarOp op;
  DType type;  // of the operands
  bool fast;

  const ScalarOpInfo& row() const { return info(op); }
  gpu::Scalar operand(int i) const { return gpu::computed_type(operand_type(op, type, i)); }
  std::string name() const {
    return fmt::format("{}_{}{}", row().name, type_text(gpu::computed_type(type)), fast ? "_fast" : "");
  }
  gpu::Expr value() const {
    std::vector<gpu::Expr> operands;
    for (int i = 0; i < row().arity; ++i)
      operands.push_back(gpu::variable(std::string(1, "abc"[i]), operand(i)));
    return gpu::apply(op, operands, fast ? gpu::Precision::fast : gpu::Precision::exact);
  }
};

std::vector<Form> all_forms() {
  std::vector<Form> forms;
#define SMELT_FORMS(name, ...)                                \
  for (DType type : {DType::boolean, DType::i32, DType::f32}) \
    for (bool fast : {false, true}) forms.push_back({ScalarOp::name, type, fast});
  SMELT_SCALAR_OPS(SMELT_FORMS)
#undef SMELT_FORMS
  return forms;
}

/// A function of numbers that hold the operands.
std::string function_text(const Form& form) {
  std::string text = fmt::format("extern \"C\" double {}(double x, double y, double z) {{\n", form.name());
  for (int i = 0; i < form.row().arity; ++i)
    text += fmt::format("  const {0} {1} = ({0}){2};\n", type_text(form.operand(i)), "abc"[i], "xyz"[i]);
  const gpu::Expr value = form.value();
  return text + fmt::format("  const {} result = {};\n  return (double)result;\n}}\n",
                            type_text(value.type()), print(kPrinted, value));
}

/// All forms at once: the compiler's start costs more than they do.
const SharedObject& compiled_forms() {
  static const SharedObject object([] {
    std::string functions;
    for (const Form& form : all_forms()) functions += function_text(form);
    return compile_text_on_host("#pragma GCC visibility push(default)\n#define SM static inline\n" +
                                with_pieces(functions));
  }());
  return object;
}

class ScalarText : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(All, ScalarText, testing::ValuesIn(all_forms()),
                         [](const auto& p) { return p.param.name(); });

TEST_P(ScalarText, FollowsItsReference) {
  const Form form = GetParam();
  const gpu::Expr value = form.value();
  const auto function =
      reinterpret_cast<double (*)(double, double, double)>(compiled_forms().symbol(form.name()));
  const double relative = form.fast ? 4e-6 : 1e-6, absolute = form.fast ? 1e-6 : 2e-7;
  for (const Operands& x : operand_tuples(form.op, form.type)) {
    const auto expected = expected_value(form.op, value.scalar() == gpu::Scalar::real, x);
    if (!expected) continue;
    const double is = function(x.at[0], x.at[1], x.at[2]);
    EXPECT_TRUE(is_close(is, *expected, relative, absolute))
        << form.name() << "(" << x.at[0] << ", " << x.at[1] << ", " << x.at[2] << ") = " << is
        << ", expected " << *expected << "; the text is " << print(kPrinted, value);
  }
}

/// What stands in for a fast form near 0 has the slope that the function has there.
TEST(ScalarText, SlopesAreTangents) {
  int slopes = 0;
  for (const Form& form : all_forms()) {
    if (form.row().cuda_slope.empty()) continue;
    const double slope = std::stod(std::string(form.row().cuda_slope));
    EXPECT_NEAR(slope, apply(form.op, Dual<double>(0, 1)).tangent, 1e-7) << form.row().name;
    EXPECT_EQ(apply(form.op, 0.0), 0) << form.row().name;
    ++slopes;
  }
  EXPECT_GT(slopes, 0);
}

}  // namespace
}  // namespace smelt::test
