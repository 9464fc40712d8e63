#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

constexpr int kRowThreads = 1024, kColumnThreads = 256;

/// Scans f32, i32 and i64; integers wrap around, and NaN wins a maximum.
std::string combine_text(const std::string& kind, DType dtype) {
  const bool real = dtype == DType::f32;
  if (kind == "max") return real ? "a != a ? a : b != b ? b : a > b ? a : b" : "a > b ? a : b";
  const char* const op = kind == "add" ? "+" : "*";
  if (dtype == DType::i64) return fmt::format("(T)((unsigned long long)a {} (unsigned long long)b)", op);
  return real ? fmt::format("a {} b", op) : fmt::format("(int)((unsigned)a {} (unsigned)b)", op);
}

std::string identity_text(const std::string& kind, DType dtype) {
  if (kind != "max") return kind == "add" ? "0" : "1";
  if (dtype == DType::i64) return "-9223372036854775807ll - 1";
  return dtype == DType::f32 ? "__uint_as_float(0xFF800000u)" : "-2147483647 - 1";
}

std::string prelude(const std::string& kind, DType dtype, bool exclusive) {
  return fmt::format(
      "typedef {0} T;\n#define kIdentity ((T)({1}))\nconstexpr bool kExclusive = {2};\n"
      "__device__ __forceinline__ T combine(T a, T b) {{ return {3}; }}\n",
      dtype == DType::f32   ? "float"
      : dtype == DType::i64 ? "long long"
                            : "int",
      identity_text(kind, dtype), exclusive, combine_text(kind, dtype));
}

KernelCode kernel_of_scan(std::string name, std::string source, int threads, Dim blocks) {
  KernelCode kernel;
  kernel.name = std::move(name);
  kernel.range = 1;  // the step says how many
  kernel.threads = threads;
  kernel.source = std::move(source);
  kernel.launch = TemplateLaunch{.step = "scan", .blocks = std::move(blocks)};
  return kernel;
}

}  // namespace

std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive) {
  const std::string what = fmt::format("{}_{}{}", kind, name(dtype), exclusive ? "_exclusive" : ""),
                    rows = "smelt_scan_rows_" + what, columns = "smelt_scan_columns_" + what;
  const auto source = [&](const std::string& kernel, std::string_view text) {
    return prelude(kind, dtype, exclusive) + with_words(text, {{"KERNEL", kernel}});
  };
  const Dim outer = field("outer"), inner = field("inner");
  KernelCode by_row = kernel_of_scan(rows, source(rows, device::kScanRows), kRowThreads, outer * inner);
  KernelCode by_column = kernel_of_scan(columns, source(columns, device::kScanColumns), kColumnThreads,
                                        ceil_div(outer * inner, kColumnThreads));
  const auto x = address("x", dtype, PlaceUse::read), y = address("y", dtype, PlaceUse::write);
  const auto number = [](const char* name) { return integer(field(name)); };
  by_row.launch->arguments = {x,
                              y,
                              number("count"),
                              number("x_outer_stride"),
                              number("x_stride"),
                              number("y_outer_stride"),
                              number("y_stride")};
  by_column.launch->arguments = {x,
                                 y,
                                 integer(outer),
                                 number("count"),
                                 integer(inner),
                                 number("x_outer_stride"),
                                 number("x_stride"),
                                 number("y_outer_stride"),
                                 number("y_stride")};
  by_row.launch->conditions = {{.value = inner, .below = 2}};
  by_column.launch->conditions = {{.value = inner * -1, .below = -1}};
  return {std::move(by_row), std::move(by_column)};
}

StepKernels step_kernels(const ScanStep& step, const Symbols&, int) {
  return {scan_kernels(step.kind, step.dtype, step.exclusive)};
}

}  // namespace smelt
