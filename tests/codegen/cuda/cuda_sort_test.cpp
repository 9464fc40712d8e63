// The built-in sort of indices, its text compiled for the host.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "codegen/cuda/sort_kernels.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cpu/sort_index.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

using SortBlock = void (*)(unsigned block, const int*, int*, int*, long long, long long);

const SharedObject& sort_object() {
  static const SharedObject object = [] {
    std::string text;
    for (const KernelCode& kernel : sort_kernels())
      text += fmt::format(
          "#define {0} device_{0}\n{1}#undef {0}\nextern \"C\" __attribute__((visibility(\"default\"))) void "
          "{0}("
          "unsigned block, const int* a, int* b, int* c, long long d, long long e) {{\n"
          "  const auto kernel = [&] {{ device_{0}(a, b, c, d, e); }};\n"
          "  host::run_block({2}, {{block}}, {{}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
          "(void*)&kernel);\n}}\n",
          kernel.name, kernel.source, kernel.threads);
    return SharedObject(compile_text_on_host(text));
  }();
  return object;
}

void run(const KernelCode& kernel, const int* indices, int* permutation, int* begins, int64_t count,
         int64_t rows) {
  const auto block = reinterpret_cast<SortBlock>(sort_object().symbol(kernel.name));
  const int64_t blocks = kernel.launch->blocks.evaluate({{"count", count}, {"rows", rows}});
  for (int64_t i = 0; i < blocks; ++i)
    block(static_cast<unsigned>(i), indices, permutation, begins, count, rows);
}

class CudaSort : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Counts, CudaSort,
                         ::testing::Values(1, 3, 31, 255, 256, 257, 1023, 1024, 1025, 3000));

TEST_P(CudaSort, IsTheCpusSort) {
  const int64_t count = GetParam();
  for (const int64_t rows : {int64_t{1}, int64_t{7}, int64_t{5000}}) {
    std::mt19937 engine(static_cast<unsigned>(count + rows));
    std::vector<int> indices(count);
    for (int& index : indices) index = static_cast<int>(engine() % static_cast<unsigned>(rows + 2)) - 1;
    std::vector<int> permutation(count, -77), begins(rows + 1, -77), expected(count, -77), bounds(rows + 1);
    sort_index(indices.data(), count, rows, expected.data(), bounds.data());
    run(sort_kernels()[0], indices.data(), permutation.data(), begins.data(), count, rows);
    run(sort_kernels()[1], indices.data(), permutation.data(), begins.data(), count, rows);
    ASSERT_EQ(begins, bounds);
    permutation.resize(bounds[rows]), expected.resize(bounds[rows]);  // indices outside come behind
    EXPECT_EQ(permutation, expected);
  }
}

}  // namespace
}  // namespace smelt::test
