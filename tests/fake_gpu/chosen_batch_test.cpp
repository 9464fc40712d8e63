// A continuous batch on the CUDA executor, whose plan chooses the tokens: each entry is one kernel that does
// what tests/runtime/engine/serving/choosing_model.h says.
#include <map>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/fake_gpu/example.h"
#include "tests/runtime/engine/serving/choosing_model.h"
#include "tests/runtime/engine/serving/crowd.h"

namespace smelt::fake {
namespace {

constexpr int64_t kSlots = 4, kCapacity = 96, kPages = 13;

int64_t bytes_at_bounds(const Plan& plan, const Shape& shape) {
  return plan.symbols.upper(element_count(shape)) * 4;
}

/// Every port and state has a buffer, and every entry a kernel of its name, which takes all of them.
Plan choosing_plan_with_kernels() {
  Plan plan = choosing_pages_plan(kSlots, kCapacity, kPages);
  plan.target = "sm_90";
  const auto buffer = [&](const std::string& name, Role role, DType dtype, const Shape& shape, int state) {
    plan.buffers.push_back({.name = name, .role = role, .dtype = dtype, .elements = element_count(shape)});
    plan.buffers.back().state = state, plan.buffers.back().bytes = bytes_at_bounds(plan, shape);
    return static_cast<int>(plan.buffers.size()) - 1;
  };
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const State& state = plan.states[i];
    buffer(state.name, state.role, state.dtype, state.shape, static_cast<int>(i));
  }
  for (PlanEntry& entry : plan.entries) {
    KernelCode kernel{
        .name = entry.name, .text = "", .dims = {Dim::symbol("B"), Dim::symbol("T")}, .range = 1};
    kernel.threads = 1, kernel.binary = code(entry.name + ", as machine code");
    KernelStep launch{static_cast<int>(plan.kernels.size()), {}, {}};
    std::vector<int> reads, writes;
    const auto argument = [&](int at, bool written) {
      launch.arguments.push_back({at, 0});
      kernel.parameters.push_back({.dtype = plan.buffers[static_cast<size_t>(at)].dtype, .written = written});
      (written ? writes : reads).push_back(at);
    };
    for (Port& port : entry.inputs)
      argument(port.buffer = buffer(port.name, Role::input, port.dtype, port.shape, -1), false);
    for (size_t i = 0; i < plan.states.size(); ++i) argument(static_cast<int>(i), true);
    for (Port& port : entry.outputs)
      argument(port.buffer = buffer(port.name, Role::output, port.dtype, port.shape, -1), true);
    plan.kernels.push_back(kernel);
    entry.steps = {{launch, reads, writes, {}, {entry.name}, "forward"}};
  }
  return plan;
}

class ChosenBatch : public FakeGpu {
 protected:
  ChosenBatch() {
    for (const PlanEntry& entry : plan_.entries) {
      const size_t pointers = entry.inputs.size() + plan_.states.size() + entry.outputs.size();
      gpu().kernels[entry.name] = {pointers + 4,
                                   [this, &entry](const KernelCall& call) { run(entry, call); }};
    }
  }

  const Plan plan_ = choosing_plan_with_kernels();

 private:
  void run(const PlanEntry& entry, const KernelCall& call) {
    size_t at = 0;
    std::vector<const void*> inputs;
    for (; at < entry.inputs.size(); ++at) inputs.push_back(call.argument<const void*>(at));
    const ChoiceStates states = {call.argument<int32_t*>(at),       call.argument<float*>(at + 1),
                                 call.argument<float*>(at + 2),     call.argument<int32_t*>(at + 3),
                                 call.argument<float*>(at + 4),     call.argument<float*>(at + 5),
                                 static_cast<size_t>(kCapacity + 1)};
    at += plan_.states.size();
    std::vector<void*> outputs;
    for (size_t i = 0; i < entry.outputs.size(); ++i) outputs.push_back(call.argument<void*>(at++));
    const SymbolValues symbols = {{"B", call.argument<int64_t>(at + 1)},
                                  {"T", call.argument<int64_t>(at + 2)}};
    if (entry.name == entry::begin_pages) return RememberingChoice::begin(inputs, states);
    const auto rows = static_cast<size_t>(symbols.at("B"));
    if (entry.name == entry::sample_allowed) return RememberingChoice::sample(inputs, rows, states);
    if (entry.name != entry::next_pages) return model_.run(entry, symbols, inputs, outputs, {});
    model_.next(inputs, rows, kCapacity / kPageTokens, static_cast<float*>(outputs[0]), states);
  }

  RememberingChoice model_{kPages};
};

TEST_F(ChosenBatch, GivesEachOfManyRequestsWhatItGetsAlone) {
  const auto ready = session(plan_);
  ContinuousBatch batch(*ready, {.most_waiting = 200, .chunk = 32});
  Crowd crowd(batch, 200, 5);
  expect_alone(crowd);
  while (batch.step()) continue;
  expect_nothing_held(batch);
  EXPECT_EQ(batch.counts().failed, 0U);
  EXPECT_GT(batch.counts().plan_tokens, 200U);
}

/// One launch of a graph is one token of every row: nothing is fetched, and no one waits for a stream.
TEST_F(ChosenBatch, NeedsNoHostBetweenTwoTokens) {
  const auto ready = session(plan_);
  ContinuousBatch batch(*ready);
  const std::vector<Request> requests = {smelt::request_of({1, 2, 3}, 60), smelt::request_of({7}, 60)};
  std::vector<Id> ids;
  for (const Request& request : requests) ids.push_back(batch.submit(request));
  for (int i = 0; i < 6; ++i) batch.step();
  const Gpu before = gpu();
  const uint64_t tokens = batch.counts().new_tokens;
  for (int i = 0; i < 30; ++i) batch.step();
  EXPECT_EQ(batch.counts().new_tokens - tokens, 60U);
  EXPECT_EQ(gpu().waits, before.waits);
  EXPECT_EQ(gpu().downloads, before.downloads);
  EXPECT_EQ(gpu().graph_launches - before.graph_launches, 30);
  EXPECT_EQ(gpu().allocations, before.allocations);
  while (batch.step()) continue;
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids_of(batch.poll(ids[i])), alone(requests[i]));
}

}  // namespace
}  // namespace smelt::fake
