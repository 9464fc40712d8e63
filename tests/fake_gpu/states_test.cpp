// States between host and device: parts by pinned memory, mirrors where they are asked for, rounded copies.
#include <algorithm>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/engine/weights/draws.h"
#include "runtime/engine/weights/initialize.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int64_t kMany = (int64_t{20} << 20) + 777;  // floats: three parts

/// A template with two addresses, then these integers, the last of them the number of its threads.
KernelCode state_kernel(const std::string& name, std::vector<std::string> addresses,
                        const std::vector<std::string>& integers) {
  using Kind = TemplateLaunch::Argument::Kind;
  TemplateLaunch launch;
  for (const std::string& address : addresses)
    launch.arguments.push_back({Kind::address, Dim::symbol(address)});
  for (const std::string& integer : integers)
    launch.arguments.push_back({Kind::integer, Dim::symbol(integer)});
  launch.blocks = ceil_div(Dim::symbol(integers.back()), 256);
  return {.name = name,
          .text = "",
          .dims = {},
          .range = 1,
          .threads = 256,
          .binary = code(name + ", as machine code"),
          .launch = std::move(launch)};
}

/// "parameters" with a bf16 copy, and a moment.
Plan plan_with_copy(bool with_kernel) {
  Plan plan = linear_plan();
  State wide{"parameters", Role::parameter, DType::f32, {Dim(kMany)}, {}, {}};
  wide.segments = {{"w", {kOut, kIn}, 0, {Initializer::Kind::normal, 0.5, 7}, true, {"w"}},
                   {"rest", {kMany - 100}, 64, {Initializer::Kind::normal, 0.02, 8}, true, {"rest"}}};
  State narrow = wide;
  narrow.name = "parameters.bf16", narrow.dtype = DType::bf16, narrow.copy_of = "parameters";
  State moment{"adam.m", Role::optimizer, DType::f32, {Dim(kMany)}, {}, {}};
  plan.states = {wide, narrow, moment};
  plan.buffers[1].elements = kMany, plan.buffers[1].bytes = kMany * 4;
  if (with_kernel) plan.kernels.push_back(state_kernel("smelt_round_bf16", {"from", "to"}, {"count"}));
  return plan;
}

class States : public FakeGpu {
 protected:
  States() {
    gpu().kernels["smelt_round_bf16"] = {3, [](const KernelCall& call) {
                                           const auto count = call.argument<int64_t>(2);
                                           EXPECT_EQ(call.blocks, (count + 255) / 256);
                                           narrow(call.argument<const float*>(0), call.argument<void*>(1),
                                                  DType::bf16, count);
                                         }};
  }
  static std::vector<float> initial(const State& state) {
    std::vector<float> values(static_cast<size_t>(kMany));
    initialize_state(state, 1, std::as_writable_bytes(std::span(values)));
    return values;
  }
  static std::span<const uint16_t> copy(const Session& session) {
    const auto bytes = session.state("parameters.bf16");
    return {reinterpret_cast<const uint16_t*>(bytes.data()), bytes.size() / 2};
  }
};

TEST_F(States, BeginAsTheHostsFormulaSays) {
  const auto ready = session(plan_with_copy(true));
  const std::vector<float> expected = initial(ready->plan().states[0]);
  EXPECT_TRUE(std::ranges::equal(ready->state_f32("parameters"), expected));
  EXPECT_TRUE(std::ranges::all_of(std::as_const(*ready).state("adam.m"),
                                  [](std::byte b) { return b == std::byte{0}; }));
}

/// A kernel that the plan has makes them, from a table; the host makes none and sends none.
TEST_F(States, AreMadeOnTheDeviceWhereThePlanHasAKernel) {
  Plan plan = plan_with_copy(true);
  plan.kernels.push_back(state_kernel("smelt_initialize_f32", {"state", "rows"}, {"row_count", "groups"}));
  int calls = 0;
  gpu().kernels["smelt_initialize_f32"] = {4, [&](const KernelCall& call) {
                                             auto* state = call.argument<float*>(0);
                                             const std::span rows(call.argument<const InitialRow*>(1),
                                                                  call.argument<size_t>(2));
                                             EXPECT_EQ(call.blocks, (call.argument<int64_t>(3) + 255) / 256);
                                             for (const InitialRow& row : rows)
                                               Draws(Philox{row.seed, 0xFFFFFFFFu, 0}, row.id, row.scale)
                                                   .normal(0, row.elements, state + row.offset);
                                             ++calls;
                                           }};
  const State parameters = plan.states[0];
  const auto ready = session(std::move(plan));
  EXPECT_EQ(calls, 1);
  const std::vector<float> expected = initial(parameters);
  EXPECT_TRUE(std::ranges::equal(ready->state_f32("parameters"), expected));
  ready->state_f32("parameters")[3] = 5;
  ready->initialize(1);
  EXPECT_TRUE(std::ranges::equal(ready->state_f32("parameters"), expected)) << "not what the mirror held";
  train(*ready, 0);
  EXPECT_EQ(from_bf16(copy(*ready)[100]), from_bf16(to_bf16(expected[100])))
      << "copies are rounded from them";
}

TEST_F(States, CopiesAreRoundedBeforeTheNextRun) {
  for (const bool with_kernel : {true, false}) {
    const auto ready = session(plan_with_copy(with_kernel));
    gpu().launches = 0;
    train(*ready, 0);
    EXPECT_EQ(gpu().launches, with_kernel ? 2 : 1);
    train(*ready, 1);
    EXPECT_EQ(gpu().launches, with_kernel ? 3 : 2) << "a copy that nothing has changed";
    const auto last = static_cast<size_t>(kMany - 1);
    ready->state_f32("parameters")[last] = 1 + 3.0f / 256;
    train(*ready, 2);
    EXPECT_EQ(from_bf16(copy(*ready)[last]), 1 + 4.0f / 256) << "a tie goes to even";
    EXPECT_EQ(from_bf16(copy(*ready)[100]), from_bf16(to_bf16(ready->state_f32("parameters")[100])));
  }
}

TEST_F(States, WithAndWithoutAKernelAreTheSame) {
  const auto one = session(plan_with_copy(true)), other = session(plan_with_copy(false));
  for (int step = 0; step < 3; ++step) train(*one, step), train(*other, step);
  for (const char* name : {"parameters", "parameters.bf16", "adam.m"})
    EXPECT_TRUE(std::ranges::equal(std::as_const(*one).state(name), std::as_const(*other).state(name)))
        << name;
}

TEST_F(States, AreWrittenWholeAndCleared) {
  const auto ready = session(plan_with_copy(true));
  std::vector<float> values(static_cast<size_t>(kMany));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9973);
  ready->write_state("parameters", std::as_bytes(std::span(values)));
  EXPECT_TRUE(std::ranges::equal(ready->state_f32("parameters"), values));
  ready->state_f32("parameters")[5] = -1;  // the mirror, from now on
  values[5] = -1;
  ready->write_state("adam.m", std::as_bytes(std::span(values)));
  ready->clear_state("parameters");
  EXPECT_EQ(ready->state_f32("parameters")[5], 0) << "not what the mirror held";
  EXPECT_EQ(std::as_const(*ready).state("adam.m").size(), values.size() * 4);
  EXPECT_HAS(message_of([&] { ready->write_state("adam.m", std::as_bytes(std::span(values)).first(8)); }),
             "state 'adam.m': expected 83889188 bytes, given 8");
}

TEST_F(States, StartingIsTimedByPart) {
  const auto ready = session(plan_with_copy(true));
  for (int step = 0; step < 3; ++step) train(*ready, step);
  std::string parts;
  for (const auto& [part, seconds] : ready->executor().startup()) {
    parts += part + " ";
    EXPECT_GE(seconds, 0) << part;
  }
  EXPECT_EQ(parts, "context checks modules memory states sizes algorithms capture ");
}

/// Without a mirror on the host, the device holds all there is.
TEST_F(States, AFreshMirrorOfZerosIsNotReadFromTheDevice) {
  const auto ready = session(plan_with_copy(true));
  gpu().downloads = 0;
  EXPECT_EQ(ready->state_f32("adam.m")[kMany - 1], 0);
  EXPECT_EQ(gpu().downloads, 0);
  ready->state_f32("parameters");
  EXPECT_EQ(gpu().downloads, 1);
}

TEST_F(States, PartsAreWrittenAlone) {
  Session session(std::make_shared<const Plan>(plan_with_copy(false)));
  const std::vector<float> values = {4, 5};
  session.write_elements("adam.m", 7, values);
  const auto moments = [&] {
    const auto bytes = std::as_const(session).state("adam.m");
    return std::span(reinterpret_cast<const float*>(bytes.data()), static_cast<size_t>(kMany));
  };
  EXPECT_EQ(moments()[6], 0);
  EXPECT_EQ(moments()[7], 4);
  EXPECT_EQ(moments()[8], 5);
  session.state_f32("adam.m")[6] = 3;  // in the mirror, which the next part must not undo
  session.write_elements("adam.m", 8, values);
  EXPECT_EQ(moments()[6], 3);
  EXPECT_EQ(moments()[8], 4);
  EXPECT_EQ(moments()[9], 5);
}

}  // namespace
}  // namespace smelt::fake
