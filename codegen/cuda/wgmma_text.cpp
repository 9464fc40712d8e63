#include "codegen/cuda/wgmma_text.h"

#include <fmt/format.h>

namespace smelt {
namespace {

std::string operands(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}", i ? ", " : "", first + i);
  return text;
}

/// One that adds, or one whose sums begin: they are no operand of it, and so not alive before.
std::string wgmma_function(const WgmmaShape& shape, DType dtype, bool add) {
  const int sums = shape.columns / 2, a_operands = shape.a_in_registers ? 4 : 1;
  std::string sum_operands, a_text;
  for (int i = 0; i < sums; ++i)
    sum_operands += fmt::format("{}\"{}f\"(d[{}])", i ? ", " : "", add ? '+' : '=', i);
  for (int i = 0; i < a_operands; ++i)
    a_text += shape.a_in_registers ? fmt::format("\"r\"(a[{}]), ", i) : "\"l\"(descriptor(a)), ";
  return fmt::format(
      "SM void {0}_{1}(float (&d)[{2}], {3}, unsigned b) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, {4}, 0;\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{5}k16.f32.{6}.{6} {{{7}}}, {8}, %{9}, p, 1, 1{10}, "
      "{11};\\n}}\"\n"
      "               : {12}\n               : {13}\"l\"(descriptor(b)));\n}}\n",
      add ? "multiply" : "begin", shape.name, sums, shape.a_in_registers ? "const unsigned* a" : "unsigned a",
      int{add}, shape.columns, half_text(dtype), operands(0, sums),
      shape.a_in_registers ? fmt::format("{{{}}}", operands(sums, 4)) : fmt::format("%{}", sums),
      sums + a_operands, shape.a_in_registers ? "" : fmt::format(", {}", int{shape.a_transposed}),
      int{shape.b_transposed}, sum_operands, a_text);
}

}  // namespace

std::string_view half_text(DType dtype) { return dtype == DType::bf16 ? "bf16" : "f16"; }

std::string wgmma_functions(const WgmmaShape& shape, DType dtype) {
  return wgmma_function(shape, dtype, false) + wgmma_function(shape, dtype, true);
}

}  // namespace smelt
