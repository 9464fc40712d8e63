// The built-in sorts of indices, their texts compiled for the host and launched as a plan says.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include "codegen/cuda/sort_kernels.h"
#include "runtime/cpu/library_steps.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

using SortBlock = void (*)(unsigned block, const uint64_t* arguments);

/// A function of the kernel's name that runs one block of it.
std::string host_text(const KernelCode& kernel) {
  std::string call;
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const bool address = kernel.launch->arguments[i].kind == TemplateLaunch::Argument::Kind::address;
    call += fmt::format("{}({})a[{}]", i > 0 ? ", " : "", address ? "int*" : "long long", i);
  }
  return fmt::format(
      "#define {0} device_{0}\nnamespace space_{0} {{\n{1}}}\n#undef {0}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(unsigned block, const uint64_t* a) {{\n"
      "  const auto kernel = [&] {{ space_{0}::device_{0}({2}); }};\n"
      "  host::run_block({3}, {{block}}, {{}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n}}\n",
      kernel.name, kernel.source, call, kernel.threads);
}

/// A sort that is planned for at most so many indices below so many rows.
class Sort {
 public:
  Sort(int64_t most, int64_t rows) : rows_(rows) {
    Symbols symbols;
    symbols.bound({"count"}, most);
    radix_ = radix_sort(Dim::symbol("count"), rows, symbols);
    kernels_ = sort_kernels(radix_);
    std::string text;
    for (const KernelCode& kernel : kernels_) text += host_text(kernel);
    object_.emplace(compile_text_on_host(text));
  }

  const std::optional<RadixSort>& radix() const { return radix_; }

  struct Result {
    std::vector<int> permutation, begins;
    int launches = 0;
  };

  Result run(const std::vector<int>& indices) const {
    const auto count = static_cast<int64_t>(indices.size());
    Result result{std::vector<int>(indices.size(), -77), std::vector<int>(rows_ + 1, -77)};
    const SymbolValues sizes = {{"count", count}};
    const int64_t elements = radix_ ? radix_->workspace(Dim::symbol("count")).evaluate(sizes) : 0;
    std::vector<int> workspace(elements + 64, -77);
    const auto address = [](const std::vector<int>& values) {
      return reinterpret_cast<cuda::DevicePointer>(values.data());
    };
    const cuda::LaunchValues values = {
        .addresses = {{"indices", address(indices)},
                      {"permutation", address(result.permutation)},
                      {"begins", address(result.begins)},
                      {"workspace_base", address(workspace)}},
        .integers = {{"count", count}, {"rows", rows_}, {"workspace_elements", elements}}};
    for (const KernelCode& kernel : kernels_) result.launches += run(kernel, values);
    EXPECT_TRUE(std::all_of(workspace.end() - 64, workspace.end(), [](int x) { return x == -77; }));
    return result;
  }

 private:
  /// Whether the kernel takes these sizes.
  bool run(const KernelCode& kernel, const cuda::LaunchValues& values) const {
    const auto launch = cuda::launch_of(kernel, nullptr, values);
    if (!launch) return false;
    const auto block = reinterpret_cast<SortBlock>(object_->symbol(kernel.name));
    for (unsigned i = launch->blocks; i-- > 0;) block(i, launch->values.data());
    return true;
  }

  int64_t rows_;
  std::optional<RadixSort> radix_;
  std::vector<KernelCode> kernels_;
  std::optional<SharedObject> object_;
};

/// Some of the indices lie outside of the rows.
std::vector<int> random_indices(int64_t count, int64_t rows) {
  std::mt19937 engine(static_cast<unsigned>(count + rows));
  std::vector<int> indices(count);
  for (int& index : indices) index = static_cast<int>(engine() % static_cast<unsigned>(rows + 2)) - 1;
  return indices;
}

void expect_the_cpus_sort(const Sort& sort, const std::vector<int>& indices, int64_t rows, int launches) {
  const auto count = static_cast<int64_t>(indices.size());
  std::vector<int> permutation(indices.size(), -77), begins(rows + 1);
  sort_index(indices.data(), count, rows, permutation.data(), begins.data());
  const Sort::Result found = sort.run(indices);
  EXPECT_EQ(found.launches, launches);
  EXPECT_EQ(found.begins, begins);
  EXPECT_EQ(found.permutation, permutation);
}

/// Planned for no more than are compared with one another.
TEST(CudaSort, OfFewIndicesIsTheCpus) {
  for (const int64_t rows : {1, 7, 5000}) {
    const Sort sort(4096, rows);
    EXPECT_FALSE(sort.radix());
    for (const int64_t count : {1, 3, 31, 255, 256, 257, 1025, 4096})
      expect_the_cpus_sort(sort, random_indices(count, rows), rows, 2);
  }
}

/// One digit, two and three; what is launched depends on how many there are.
TEST(CudaSort, OfManyIndicesIsTheCpus) {
  const std::map<int64_t, int> digits = {{1, 1}, {100, 1}, {511, 1}, {512, 2}, {50257, 2}, {1 << 18, 3}};
  for (const auto& [rows, expected] : digits) {
    const Sort sort(100000, rows);
    ASSERT_TRUE(sort.radix());
    EXPECT_EQ(sort.radix()->digits, expected);
    for (const int64_t count : {1, 4096}) expect_the_cpus_sort(sort, random_indices(count, rows), rows, 2);
    for (const int64_t count : {4097, 6143})
      expect_the_cpus_sort(sort, random_indices(count, rows), rows, expected + 2);
    if (rows == 50257) expect_the_cpus_sort(sort, random_indices(100000, rows), rows, expected + 2);
  }
}

TEST(CudaSort, OfAnyOrderIsStable) {
  constexpr int64_t kRows = 50257;
  constexpr int kCount = 20011;
  const Sort sort(kCount, kRows);
  std::mt19937 engine(5);
  const auto expect = [&](const char* what, const auto& index) {
    SCOPED_TRACE(what);
    std::vector<int> indices;
    for (int i = 0; i < kCount; ++i) indices.push_back(static_cast<int>(index(i)));
    expect_the_cpus_sort(sort, indices, kRows, 4);
  };
  expect("all equal", [](int) { return 40000; });
  expect("all outside", [](int i) { return i % 2 ? -1 : 50257 + i; });
  expect("sorted", [](int i) { return i * 2; });
  expect("reversed", [](int i) { return (kCount - 1 - i) * 2; });
  expect("few values", [&](int) { return engine() % 3 * 256; });
  expect("mostly padding", [&](int) { return engine() % 8 ? 50256 : engine() % 50257; });
  expect("positions", [](int i) { return i % 1024; });
}

/// Where more are planned for, every block goes on with the next indices.
TEST(CudaSort, PlannedForAMillionTakesLongerChunks) {
  const Sort sort(1000000, 3000);
  ASSERT_TRUE(sort.radix());
  EXPECT_EQ(sort.radix()->chunk, 8192);
  for (const int64_t count : {5000, 20000}) expect_the_cpus_sort(sort, random_indices(count, 3000), 3000, 4);
}

/// A workspace that is too small is not written: there is nothing then that sorts.
TEST(CudaSort, TakesNoWorkspaceThatIsTooSmall) {
  Symbols symbols;
  const auto radix = radix_sort(5000, 3000, symbols);
  ASSERT_TRUE(radix);
  const int64_t enough = radix->workspace(5000).evaluate({});
  EXPECT_EQ(enough, 5000 + 2 * 3 * 64);
  for (const KernelCode& kernel : sort_kernels(radix)) {
    cuda::LaunchValues values = {
        .addresses = {{"indices", 0}, {"permutation", 0}, {"begins", 0}, {"workspace_base", 0}},
        .integers = {{"count", 5000}, {"rows", 3000}, {"workspace_elements", enough - 1}}};
    EXPECT_EQ(cuda::launch_of(kernel, nullptr, values).has_value(), kernel.name == "smelt_sort_begins");
  }
}

}  // namespace
}  // namespace smelt::test
