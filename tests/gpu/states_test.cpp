// States on a GPU hold what the host's formulas give; skipped where there is no GPU.
#include <algorithm>

#include "runtime/base/convert.h"
#include "runtime/engine/weights/initialize.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuStates = GpuTest;

TEST_F(GpuStates, RoundedCopiesHaveTheHostsBits) {
  for (const DType storage : {DType::bf16, DType::f16}) {
    Session session = small_model({}, small_plan(this_gpu(), storage));
    run(session, "evaluate", 2, 9);  // which writes no state
    int copies = 0;
    for (const State& state : session.plan().states) {
      if (state.copy_of.empty()) continue;
      ++copies;
      const auto copy = std::as_const(session).state(state.name),
                 master = std::as_const(session).state(state.copy_of);
      std::vector<std::byte> expected(copy.size());
      narrow(reinterpret_cast<const float*>(master.data()), expected.data(), state.dtype,
             static_cast<int64_t>(master.size() / sizeof(float)));
      EXPECT_TRUE(std::ranges::equal(copy, expected)) << state.name;
    }
    EXPECT_GT(copies, 0);
  }
}

TEST_F(GpuStates, InitialValuesAreTheHosts) {
  Session session = small_model({});
  const State* state = session.plan().find_state("parameters");
  const auto& kernels = session.plan().kernels;
  EXPECT_NE(std::ranges::find(kernels, initialize_kernel_name(*state), &KernelCode::name), kernels.end());
  std::vector<std::byte> expected(static_cast<size_t>(state_bytes(session.plan(), *state)));
  initialize_state(*state, 3, expected);
  EXPECT_TRUE(std::ranges::equal(std::as_const(session).state("parameters"), expected));
}

}  // namespace
}  // namespace smelt
