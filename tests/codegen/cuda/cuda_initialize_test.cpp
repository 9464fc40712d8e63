// Initial values by the built-in kernels, their text compiled for the host: the bits of the host's own.
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/cuda/step_kernels.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/engine/weights/initialize.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

using Kind = Initializer::Kind;
using InitializeBlock = void (*)(unsigned block, void*, const void*, long long, long long);

/// "parameters" of this type: segments of odd sizes at odd places, of every kind.
State uneven_state(DType dtype) {
  State state{.name = "parameters", .role = Role::parameter, .dtype = dtype, .shape = {}, .init = {}};
  int64_t at = 0;
  const auto add = [&](int64_t elements, int64_t gap, Initializer init) {
    at += gap;
    state.segments.push_back({"w" + std::to_string(at), {elements}, at, init, true, {}});
    at += elements;
  };
  for (const int64_t elements : {1, 3, 31, 33, 197, 777, 4096, 5003}) {
    add(elements, 0, {Kind::normal, 0.02, static_cast<uint32_t>(elements)});
    add(elements, 3, {Kind::uniform, 1.0 / 3, 5});
    add(elements, 16 - at % 16, {Kind::normal, 1, 0});
    add(elements, 1, {Kind::value, 0.7, 0});
    add(elements, 0, {Kind::value, 0, 0});
  }
  state.shape = {Dim(at + 13)};
  return state;
}

State plain_state(Initializer init, int64_t elements) {
  return {
      .name = "moments", .role = Role::state, .dtype = DType::f32, .shape = {Dim(elements)}, .init = init};
}

int64_t bytes_of(const State& state) { return *state.shape[0].constant() * size_of(state.dtype); }

/// A block is what a launch's is; every one of them writes.
std::vector<std::byte> made_by_kernel(const State& state, uint32_t seed) {
  const KernelCode kernel = initialize_kernels({state}).at(0);
  EXPECT_EQ(kernel.name, initialize_kernel_name(state));
  const SharedObject object(compile_text_on_host(fmt::format(
      "#define {0} device_{0}\n{1}#undef {0}\nextern \"C\" __attribute__((visibility(\"default\"))) void {0}("
      "unsigned block, void* state, const void* rows, long long count, long long groups) {{\n"
      "  const auto kernel = [&] {{ device_{0}(({3}*)state, (const Row*)rows, count, groups); }};\n"
      "  host::run_block({2}, {{block}}, {{}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n}}\n",
      kernel.name, kernel.source, kernel.threads, state.dtype == DType::f32 ? "float" : "unsigned short")));
  const auto block = reinterpret_cast<InitializeBlock>(object.symbol(kernel.name));
  std::vector<std::byte> memory(static_cast<size_t>(bytes_of(state)));
  int64_t groups = 0;
  const std::vector<InitialRow> rows = initial_rows(state, seed, bytes_of(state), groups);
  for (int64_t i = 0; i < kernel.launch->blocks.evaluate({{"groups", groups}}); ++i)
    block(static_cast<unsigned>(i), memory.data(), rows.data(), static_cast<long long>(rows.size()), groups);
  return memory;
}

std::vector<std::byte> made_by_host(const State& state, uint32_t seed) {
  std::vector<std::byte> memory(static_cast<size_t>(bytes_of(state)));
  initialize_state(state, seed, memory);
  return memory;
}

class CudaInitialize : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, CudaInitialize, ::testing::Values(DType::f32, DType::bf16));

TEST_P(CudaInitialize, SegmentsHaveTheHostsBits) {
  const State state = uneven_state(GetParam());
  for (const uint32_t seed : {0u, 9u, 0xFFFFFFFFu})
    EXPECT_EQ(made_by_kernel(state, seed), made_by_host(state, seed)) << seed;
}

TEST(CudaInitializeWhole, StatesWithoutSegmentsToo) {
  for (const Initializer init : {Initializer{Kind::normal, 0.02, 1}, Initializer{Kind::uniform, 2, 1}})
    for (const int64_t elements : {1, 7, 250'001}) {
      const State state = plain_state(init, elements);
      EXPECT_EQ(made_by_kernel(state, 3), made_by_host(state, 3)) << elements;
    }
}

TEST(CudaInitializeWhole, OnlyWhereThereAreRandomNumbers) {
  State copy = uneven_state(DType::bf16);
  copy.copy_of = "parameters";
  const State half = uneven_state(DType::f16), ones = plain_state({Kind::value, 1, 0}, 5);
  EXPECT_TRUE(initialize_kernels({copy, half, ones}).empty());
  const std::vector<KernelCode> both =
      initialize_kernels({uneven_state(DType::f32), uneven_state(DType::bf16), uneven_state(DType::f32)});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].name, "smelt_initialize_f32");
  EXPECT_EQ(both[1].name, "smelt_initialize_bf16");
}

}  // namespace
}  // namespace smelt::test
