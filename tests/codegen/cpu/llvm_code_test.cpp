// The machine code itself: vectors where they belong, no library, readable errors.
#include <gtest/gtest.h>

#include <regex>

#include "runtime/base/error.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

CpuTarget skylake() {
  return {"x86_64-unknown-linux-gnu", "skylake-avx512",
          "+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx2,+fma,+f16c"};
}
CpuTarget haswell() { return {"x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma,+f16c"}; }

/// Dropout, a reduction, exponentials, a division, in f32 and bf16.
Kernel busy_kernel() {
  KernelBuilder b("busy");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(Dim::symbol("N"));
  const Dim n = Dim::symbol("N");
  const int x = b.input(), w = b.input(DType::bf16), y = b.output();
  b.column_block();
  const int m = b.reduce(ReduceOp::max_sumexp, b.load(x, {{r, n}, {c, 1}})), s = b.second(m);
  b.column_block();
  const int e = b.op(ScalarOp::exp, {b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), m})});
  const int keep = b.op(ScalarOp::ge, {b.random(0, c, {{r, 1}}), b.number(100, DType::i32)}, DType::i32);
  const int p = b.op(ScalarOp::mul, {b.op(ScalarOp::div, {e, s}), b.load(w, {{c, 1}})});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::select, {keep, b.op(ScalarOp::tanh, {p}), b.number(0)}));
  return b.kernel;
}

int count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

TEST(MachineCode, FillsTheRegistersOfTheProcessor) {
  if (CpuTarget::host().triple.find("x86_64") != 0) GTEST_SKIP() << "x86-64 only";
  const Kernel kernel = busy_kernel();
  const std::string wide = emit_assembly({&kernel}, skylake()), narrow = emit_assembly({&kernel}, haswell());
  EXPECT_GT(count(wide, "vfmadd[0-9]+ps.*zmm"), 20);
  EXPECT_GT(count(wide, "vpmuludq.*zmm"), 20) << "Philox runs on whole vectors";
  EXPECT_GT(count(wide, "vmaxps.*zmm"), 0);
  EXPECT_GT(count(wide, "vmovups[^\n]*zmm[0-9]+, \\("), 0);
  EXPECT_GT(count(narrow, "vfmadd[0-9]+ps.*ymm"), 20);
  EXPECT_EQ(count(narrow, "zmm"), 0);
}

TEST(MachineCode, CallsNothing) {
  const Kernel kernel = busy_kernel();
  for (const CpuTarget& target : {CpuTarget::host(), skylake(), haswell()}) {
    if (target.triple.substr(0, 6) != CpuTarget::host().triple.substr(0, 6)) continue;
    const std::string text = emit_assembly({&kernel}, target);
    EXPECT_EQ(count(text, "\\bcallq?\\b"), 0) << target.cpu;
  }
}

/// Vectors have the same number of lanes everywhere, so sums have one order: the same bits on every processor
/// with fused multiply-adds.
TEST(MachineCode, ResultsDoNotDependOnTheRegisters) {
  const CpuTarget host = CpuTarget::host();
  if (!host.has("avx2") || !host.has("fma")) GTEST_SKIP() << "needs AVX2";
  const int64_t rows = 7;
  for (int64_t n : {1, 33, 197, 777}) {
    auto x = random_floats(static_cast<size_t>(rows * n), 1);
    std::vector<uint16_t> w(static_cast<size_t>(n));
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint16_t>(0x3F80 + i % 100);
    std::vector<std::vector<float>> results;
    for (const CpuTarget& target : {host, haswell()}) {
      std::vector<float>& y = results.emplace_back(x.size(), -1.0f);
      CompiledKernel(busy_kernel(), target)
          .launch({.buffers = {x.data(), w.data(), y.data()},
                   .symbols = {{"M", rows}, {"N", n}},
                   .random_ids = {5}});
    }
    EXPECT_EQ(results[0], results[1]) << n;
    EXPECT_NE(results[0], std::vector<float>(x.size(), 0.0f));
  }
}

TEST(MachineCode, AKernelMayHaveNoAxes) {
  KernelBuilder b("step");
  const int step = b.input(), next = b.output();
  b.row_block();
  b.store(next, {}, b.op(ScalarOp::add, {b.load(step, {}), b.number(1)}));
  float value = 41;
  CompiledKernel(b.kernel).launch({.buffers = {&value, &value}});
  EXPECT_EQ(value, 42);
}

TEST(MachineCode, ManyKernelsShareOneObject) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 20; ++i) {
    KernelBuilder b("kernel_" + std::to_string(i));
    const int c = b.column(33);
    const int y = b.output();
    b.column_block();
    b.store(y, {{c, 1}}, b.number(i));
    kernels.push_back(b.kernel);
  }
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  const auto image = compile_kernels(pointers, CpuTarget::host());
  EXPECT_EQ(image, compile_kernels(pointers, CpuTarget::host()));
  const SharedObject object(image);
  for (int i = 0; i < 20; ++i) {
    std::vector<float> y(33, -1);
    void* buffers[] = {y.data()};
    const KernelArgs arguments = {buffers, nullptr, nullptr, 0, 0, 0, 0, 1};
    reinterpret_cast<KernelFunction>(object.symbol("kernel_" + std::to_string(i)))(&arguments, 0, 1);
    EXPECT_EQ(y, std::vector<float>(33, static_cast<float>(i)));
  }
}

TEST(MachineCode, DimsComeInOrderOfFirstUse) {
  const Kernel kernel = busy_kernel();
  EXPECT_EQ(launch_dims(kernel), (std::vector<Dim>{Dim::symbol("M"), Dim::symbol("N")}));
}

/// y = factor * x.
Kernel scaling_kernel(const std::string& name, double factor) {
  KernelBuilder b(name);
  const int c = b.column(Dim::symbol("N")), x = b.input(), y = b.output();
  b.column_block();
  b.store(y, {{c, 1}}, b.op(ScalarOp::mul, {b.load(x, {{c, 1}}), b.number(factor)}));
  return b.kernel;
}

/// From its definition to the end of its body.
std::string function_text(const std::string& text, const std::string& name) {
  const size_t begin = text.find("define void @" + name + "(ptr %0, i64 %1, i64 %2)");
  return begin == text.npos ? "" : text.substr(begin, text.find("\n}\n", begin) - begin);
}

TEST(MachineCode, TextShowsEveryFunctionWithItsNumbers) {
  const Kernel first = scaling_kernel("first", 2.5), second = scaling_kernel("second", -0.375);
  const std::string text = emit_llvm_text({&first, &second}, CpuTarget::host());
  EXPECT_EQ(count(text, "\ndefine "), 2);
  EXPECT_EQ(count(text, "\ndeclare [^\n]*@"), count(text, "\ndeclare [^\n]*@llvm\\."))
      << "calls nothing of a library";
  EXPECT_NE(text.find("target triple = \"" + CpuTarget::host().triple + "\""), std::string::npos);
  const std::string bodies[] = {function_text(text, "first"), function_text(text, "second")};
  EXPECT_GT(count(bodies[0], "fmul [^\n]*float 2\\.500000e\\+00"), 0) << bodies[0];
  EXPECT_EQ(count(bodies[0], "-3\\.750000e-01"), 0);
  EXPECT_GT(count(bodies[1], "fmul [^\n]*float -3\\.750000e-01"), 0) << bodies[1];
  EXPECT_EQ(count(bodies[1], "2\\.500000e\\+00"), 0);
}

/// x is %0, the factor %1, the product %2: what computes %2 is called %v2., %v2.1, ...
TEST(MachineCode, TextNamesValuesAfterTheKernels) {
  const Kernel kernel = scaling_kernel("scale", 2.5);
  const std::string text = emit_llvm_text({&kernel}, CpuTarget::host());
  EXPECT_GT(count(text, "%v0\\.[0-9]* = (load|call)"), 0) << text;
  EXPECT_GT(count(text, "%v2\\.[0-9]* = fmul [^\n]*%v0\\."), 0) << text;
  EXPECT_EQ(count(text, "%v1\\."), 0) << "a constant has no line: " << text;
}

TEST(MachineCode, AnUnknownTargetIsAnError) {
  const Kernel kernel = busy_kernel();
  try {
    compile_kernels({&kernel}, {"pdp11-unknown-none", "pdp11", ""});
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("pdp11"), std::string::npos) << error.what();
  }
}

TEST(Kernels, RangeCountsWhatTheRuntimeSplits) {
  KernelBuilder rows("rows");
  rows.parallel(Dim::symbol("B")), rows.parallel(4), rows.column(100);
  EXPECT_EQ(rows.kernel.range(), Dim::symbol("B") * 4);
  KernelBuilder reduced("reduced");
  reduced.parallel(Dim::symbol("B")), reduced.reduced(9), reduced.column(3), reduced.column(1000);
  reduced.kernel.schedule.tile = 256;
  EXPECT_EQ(reduced.kernel.range(), Dim::symbol("B") * 12);
  KernelBuilder flat("flat");
  flat.column(Dim::symbol("N"));
  flat.kernel.schedule.flat = true;
  EXPECT_EQ(flat.kernel.range(), Dim::symbol("N"));
}

TEST(Kernels, SameCodeIgnoresNamesOnly) {
  Kernel a = busy_kernel(), b = a;
  b.name = "other", b.params[0].name = "z", b.axes[0].name = "q";
  EXPECT_TRUE(a.same_code(b));
  b.schedule.tile = 8;
  EXPECT_FALSE(a.same_code(b));
  b = a, b.axes[1].extent = 5;
  EXPECT_FALSE(a.same_code(b));
}

}  // namespace
}  // namespace smelt::test
