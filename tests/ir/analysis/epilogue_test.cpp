#include "ir/analysis/epilogue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/target.h"
#include "ir/text/text.h"

namespace smelt {
namespace {

struct Case {
  std::string_view name, spec, body;
  std::optional<Epilogue::Kind> kind;
  std::string_view operand;  // of the graph
  bool kept_by_cpu, kept_by_gpu;
  std::string_view type = "bf16";
  size_t scales = 0;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Epilogues : public ::testing::TestWithParam<Case> {};

TEST_P(Epilogues, AreReadOffBodies) {
  const Case& c = GetParam();
  const auto module = parse_module(fmt::format(
      "graph @g(%x: {0}[4,4], %w: {0}[4,4], %row: {0}[4], %wide: f32[4], %m: {0}[4,4], %s1: f32[], \n"
      "    %s2: f32[], %short: bf16[4]) {{\n"
      "  %y = matmul %x, %w (%p, %row = %row, %wide = %wide, %m = %m, %s1 = %s1, %s2 = %s2, %short = %short) "
      "{{spec = \"{1}\"}} {{\n"
      "{2}\n    return %r\n  }}\n  return y = %y\n}}",
      c.type, c.spec, c.body));
  const Node& matmul = *module->graphs[0]->outputs[0].value->node();
  const auto found = epilogue(matmul);
  ASSERT_EQ(found.has_value(), c.kind.has_value());
  if (found) {
    EXPECT_EQ(found->kind, *c.kind);
    EXPECT_EQ(found->operand ? found->operand->node()->get(attr::name) : "", c.operand);
    EXPECT_EQ(found->scales.size(), c.scales);
  }
  EXPECT_EQ(Target{}.keeps_body(matmul), c.kept_by_cpu);
  EXPECT_EQ(parse_target("sm_90").keeps_body(matmul), c.kept_by_gpu);
}

constexpr auto kRow = Epilogue::Kind::row, kMatrix = Epilogue::Kind::matrix, kNone = Epilogue::Kind::none;

const Case kCases[] = {
    {"bias", "bc,co->bo",
     "%v = convert %row : f32[4] %b = broadcast %v {axes = [1]} : f32[4,4] %s = add %p, %b %r = convert %s : "
     "bf16[4,4]",
     kRow, "row", false, true},
    {"bias_in_f32", "bc,co->bo", "%b = broadcast %row {axes = [1]} : f32[4,4] %r = add %b, %p", kRow, "row",
     false, true, "f32"},
    {"matrix", "bc,co->bo", "%v = convert %m : f32[4,4] %s = add %v, %p %r = convert %s : bf16[4,4]", kMatrix,
     "m", true, true},
    {"matrix_in_f32", "bc,co->bo", "%r = add %p, %m", kMatrix, "m", true, true, "f32"},
    {"wider_bias",
     "bc,co->bo",
     "%b = broadcast %wide {axes = [1]} : f32[4,4] %s = add %p, %b %r = convert %s : bf16[4,4]",
     {},
     "",
     false,
     false},
    {"bias_along_columns",
     "bc,co->bo",
     "%v = convert %row : f32[4] %b = broadcast %v {axes = [0]} : f32[4,4] %s = add %p, %b %r = convert %s : "
     "bf16[4,4]",
     {},
     "",
     false,
     false},
    {"transposed_product", "bc,co->ob", "%b = broadcast %row {axes = [1]} : f32[4,4] %r = add %b, %p", kRow,
     "row", false, false, "f32"},
    {"rounded_product",
     "bc,co->bo",
     "%q = convert %p : bf16[4,4] %v = convert %q : f32[4,4] %w = convert %m : f32[4,4] %s = add %v, %w %r = "
     "convert %s : bf16[4,4]",
     {},
     "",
     false,
     false},
    {"activation", "bc,co->bo", "%s = add %p, %m %r = tanh %s", {}, "", false, false, "f32"},
    {"twice", "bc,co->bo", "%r = add %p, %p", {}, "", false, false, "f32"},
    {"scaled_elements", "bc,co->bo", "%r = mul %p, %m", {}, "", false, false, "f32"},
    {"scaled", "bc,co->bo",
     "%f = broadcast %s1 {axes = []} : f32[4,4] %q = mul %f, %p %r = convert %q : bf16[4,4]", kNone, "",
     false, true, "f8e4m3", 1},
    {"scaled_in_f32", "bc,co->bo", "%f = broadcast %s1 {axes = []} : f32[4,4] %r = mul %p, %f", kNone, "",
     false, false, "f32", 1},
    {"scaled_twice_with_bias", "bc,co->bo",
     "%f = broadcast %s1 {axes = []} : f32[4,4] %g = broadcast %s2 {axes = []} : f32[4,4] %h = mul %p, %f %q "
     "= mul "
     "%h, %g %v = convert %short : f32[4] %w = broadcast %v {axes = [1]} : f32[4,4] %s = add %q, %w %r = "
     "convert %s : "
     "bf16[4,4]",
     kRow, "short", false, true, "f8e4m3", 2},
    {"scaled_three_times",
     "bc,co->bo",
     "%f = broadcast %s1 {axes = []} : f32[4,4] %h = mul %p, %f %q = mul %h, %f %r = mul %q, %f",
     {},
     "",
     false,
     false,
     "f8e4m3"},
};
INSTANTIATE_TEST_SUITE_P(All, Epilogues, ::testing::ValuesIn(kCases),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(Epilogues, NeedABody) {
  const auto module = parse_module(
      "graph @g(%x: f32[4,4]) {\n  %y = matmul %x, %x {spec = \"ab,bc->ac\"}\n  return y = %y\n}");
  const Node& matmul = *module->graphs[0]->outputs[0].value->node();
  EXPECT_FALSE(epilogue(matmul));
  EXPECT_FALSE(parse_target("sm_90").keeps_body(matmul));
}

}  // namespace
}  // namespace smelt
