// A plan for the fake GPU (fake_gpu.h), and a test fixture. The plan has a GEMM, and a kernel that updates a
// state from the result of the GEMM, so that the state depends on the rounding of the GEMM.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "runtime/session/session.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::fake {

inline constexpr int64_t kMostRows = 8, kIn = 4, kOut = 3;

/// Returns a text as bytes, to be used as the binary of a kernel.
inline std::vector<std::byte> code(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

/// Returns a plan with the entry train_step: y = x W^T, where x is [B,4] and W is [3,4]. Then the kernel
/// `descend` updates W from y.
inline Plan linear_plan() {
  const Dim rows = Dim::symbol("B");
  Plan plan;
  plan.target = "sm_90";
  plan.symbols.bound({"B"}, kMostRows);
  State weights{"parameters", Role::parameter, DType::f32, {Dim(kOut * kIn)}, {}, {}};
  weights.segments = {{"w", {kOut, kIn}, 0, {Initializer::Kind::normal, 0.5, 7}, true, {"w"}}};
  plan.states = {weights};
  const auto buffer = [&](const char* name, Role role, int64_t columns, int state = -1) {
    Buffer b{.name = name, .role = role, .elements = rows * columns, .bytes = kMostRows * columns * 4};
    if ((b.state = state) >= 0) b.elements = kOut * kIn, b.bytes = kOut * kIn * 4;
    plan.buffers.push_back(b);
  };
  buffer("x", Role::input, kIn), buffer("w", Role::parameter, kIn, 0), buffer("y", Role::output, kOut);
  plan.kernels = {{.name = "descend",
                   .text = "",
                   .dims = {rows},
                   .range = Dim(kOut * kIn),
                   .grain = 4,
                   .parameters = {{}, {.written = true}},
                   .threads = 4,
                   .binary = code("descend, as machine code")}};
  const GemmStep gemm{{{0, 0}, kIn, 1}, {{1, 0}, 1, kIn}, {{2, 0}, kOut, 1}, rows, kOut, kIn};
  PlanEntry entry;
  entry.name = "train_step";
  entry.inputs = {{"x", DType::f32, {rows, Dim(kIn)}, 0}};
  entry.outputs = {{"y", DType::f32, {rows, Dim(kOut)}, 2}};
  entry.steps = {{gemm, {0, 1}, {2}, {}, {"head.matmul"}, "forward"},
                 {KernelStep{0, {{2, 0}, {1, 0}}, {}}, {1, 2}, {1}, {}, {"head.update", "decay"}, "update"}};
  plan.entries = {entry};
  return plan;
}

/// The kernel: w[o,i] -= (sum of y[r,o] over all rows r) / 100.
inline void descend(const KernelCall& call) {
  const auto* y = call.argument<const float*>(0);
  auto* w = call.argument<float*>(1);
  const auto rows = call.argument<int64_t>(3);
  for (int64_t o = 0; o < kOut; ++o)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < kIn; ++i) w[o * kIn + i] -= y[r * kOut + o] / 100;
}

/// Fixture that resets the fake GPUs before each test, and uses a temporary cache directory.
class FakeGpu : public ::testing::Test {
 protected:
  FakeGpu() {
    for (int device = 0; device < kMostGpus; ++device) {
      gpu(device) = {};
      gpu(device).kernels["descend"] = {5, descend};
    }
    ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1);
  }
  ~FakeGpu() override { ::unsetenv("SMELT_CACHE_DIR"); }

  static std::unique_ptr<Session> session(Plan plan = linear_plan(), const SessionOptions& options = {}) {
    auto made = std::make_unique<Session>(std::make_shared<const Plan>(std::move(plan)), options);
    made->initialize(1);
    return made;
  }
  /// Runs train_step once, with an input that depends on `step`, and returns y.
  static std::vector<float> train(Session& session, int64_t step, int64_t rows = 5) {
    std::vector<float> x(static_cast<size_t>(rows * kIn));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((7 * i + 3 * static_cast<size_t>(step)) % 11) - 5;
    const InputTensor input{"x", DType::f32, {rows, kIn}, x.data()};
    const auto outputs = session.run("train_step", {&input, 1});
    const auto y = outputs[0].as<float>();
    return {y.begin(), y.end()};
  }
  static std::vector<float> weights(Session& session) {
    const auto values = session.state_f32("parameters");
    return {values.begin(), values.end()};
  }

  TemporaryDirectory cache_, work_;
};

}  // namespace smelt::fake
