// The memory that a run's inputs go through: a later run uses it again when the device has read them.
#include <numeric>

#include "tests/fake_gpu/device_memory.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class InputSlots : public FakeGpu {
 protected:
  /// How often runs wait for an event, behind some that tune and fill all slots.
  static int waits_in(Session& session, int64_t runs) {
    for (int64_t step = 0; step < 4; ++step) train(session, step);
    const int before = gpu().event_waits;
    for (int64_t step = 0; step < runs; ++step) train(session, step);
    return gpu().event_waits - before;
  }
};

TEST_F(InputSlots, AreUsedAgainWithoutWaitingWhereTheyWereRead) {
  const auto trained = session();
  EXPECT_EQ(waits_in(*trained, 8), 0);
}

TEST_F(InputSlots, AreWaitedForWhereTheDeviceIsLate) {
  const auto trained = session(), late = session();
  EXPECT_EQ(waits_in(*trained, 8), 0);
  gpu().late_events = true;
  EXPECT_EQ(waits_in(*late, 8), 8);
  EXPECT_EQ(weights(*trained), weights(*late));
}

/// The runs that begin searches are started without waiting for the run before them.
TEST_F(InputSlots, HoldTheInputsOfThreeRuns) {
  const auto late = session();
  gpu().late_events = true;
  const int before = gpu().event_waits;
  for (int64_t step = 0; step < 3; ++step) train(*late, step);
  EXPECT_EQ(gpu().event_waits, before);
  train(*late, 3);
  EXPECT_EQ(gpu().event_waits, before + 1);
}

// ---- several inputs

/// An entry with inputs a, b and c of `rows` numbers each, at most `most` of them, and the output y = a + 2 b
/// + 3 c. Input c may be left out, and then consists of fours.
Plan plan_with_inputs(int64_t most) {
  const Dim rows = Dim::symbol("B");
  Plan plan;
  plan.target = "sm_90";
  plan.symbols.bound({"B"}, most);
  for (const char* name : {"a", "b", "c", "y"})
    plan.buffers.push_back({.name = name,
                            .role = *name == 'y' ? Role::output : Role::input,
                            .elements = rows,
                            .bytes = most * int64_t{sizeof(float)}});
  plan.kernels = {{.name = "add_inputs",
                   .text = "",
                   .dims = {rows},
                   .range = rows,
                   .grain = 4,
                   .parameters = {{}, {}, {}, {.written = true}},
                   .threads = 4,
                   .binary = code("add_inputs, as machine code")}};
  PlanEntry entry;
  entry.name = "add";
  entry.inputs = {{"a", DType::f32, {rows}, 0}, {"b", DType::f32, {rows}, 1}, {"c", DType::f32, {rows}, 2}};
  entry.inputs[2].optional = true, entry.inputs[2].fill = 4;
  entry.outputs = {{"y", DType::f32, {rows}, 3}};
  entry.steps = {
      {KernelStep{0, {{0, 0}, {1, 0}, {2, 0}, {3, 0}}, {}}, {0, 1, 2}, {3}, {}, {"add"}, "forward"}};
  plan.entries = {entry};
  return plan;
}

void add_inputs(const KernelCall& call) {
  auto* y = call.argument<float*>(3);
  for (int64_t i = 0; i < call.argument<int64_t>(5); ++i)
    y[i] = call.argument<const float*>(0)[i] + 2 * call.argument<const float*>(1)[i] +
           3 * call.argument<const float*>(2)[i];
}

class SeveralInputs : public FakeGpu {
 protected:
  SeveralInputs() { gpu().kernels["add_inputs"] = {6, add_inputs}; }
  static std::vector<float> numbers(int64_t count, float first) {
    std::vector<float> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
  }
  /// Runs the entry and returns how many copies within the device it took.
  int moves_of(Session& session, int64_t rows, bool b_is_there, bool c_is_given) {
    const auto a = numbers(rows, 1), b = numbers(rows, 7), c = numbers(rows, -3);
    const DeviceFloats there(b);
    std::vector<InputTensor> inputs = {{"a", DType::f32, {rows}, a.data()},
                                       {"b", DType::f32, {rows}, b.data()}};
    if (b_is_there) inputs[1] = {"b", DType::f32, {rows}, there.pointer(), true};
    if (c_is_given) inputs.push_back({"c", DType::f32, {rows}, c.data()});
    const int before = gpu().moves;
    const auto outputs = session.run("add", inputs);
    const auto y = outputs[0].as<float>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(y[i], a[i] + 2 * b[i] + 3 * (c_is_given ? c[i] : 4)) << i;
    return gpu().moves - before;
  }
};

TEST_F(SeveralInputs, AreMovedByOneCopy) {
  const auto adding = session(plan_with_inputs(100));
  for (const int64_t rows : {1, 37, 100}) {
    EXPECT_EQ(moves_of(*adding, rows, false, true), 1);
    EXPECT_EQ(moves_of(*adding, rows, false, false), 1);
  }
}

TEST_F(SeveralInputs, OfTheDeviceHaveCopiesOfTheirOwn) {
  const auto adding = session(plan_with_inputs(100));
  for (const int64_t rows : {1, 37, 100}) EXPECT_EQ(moves_of(*adding, rows, true, rows > 1), 2);
}

TEST_F(SeveralInputs, ThatLieFarApartHaveCopiesOfTheirOwn) {
  const auto adding = session(plan_with_inputs(int64_t{1} << 18));
  for (const int64_t rows : {1, 37, 1 << 17}) EXPECT_EQ(moves_of(*adding, rows, false, true), 3);
}

}  // namespace
}  // namespace smelt::fake
