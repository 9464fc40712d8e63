// Masters and moments in pinned memory: the same bits as on the device, step by step and captured, and less
// memory there; skipped where there is no GPU.
#include "runtime/engine/training/checkpoint.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

Plan offloaded_plan(DType storage, double share, int64_t bucket, bool accumulates) {
  CompileOptions options;
  options.target = "sm_" + std::to_string(this_gpu());
  options.storage = storage;
  options.entries = {"train_step"};
  if (accumulates) options.entries = {"accumulate", "apply"};
  options.training.optimizer.clip_norm = 1;
  options.training.accumulation = accumulates;
  options.offload = {.share = share, .bucket = bucket};
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, kLength}};
  return compile(small_decoder(), options).plan;
}

struct OffloadOnGpu {
  DType storage;
  double share;
  int64_t bucket;  // bytes
  bool accumulates = false;
};

class GpuOffload : public GpuTest {
 protected:
  static std::map<std::string, std::vector<std::byte>> train(const Plan& plan, bool accumulates) {
    Session session = small_model({.poison = true}, plan);
    for (int64_t step = 0; step < 6; ++step) {
      session.set_random(7, step);
      run(session, accumulates ? "accumulate" : "train_step", kBatch, kLength);
      if (accumulates) session.run("apply", {});
    }
    std::map<std::string, std::vector<std::byte>> states;
    for (const State& state : plan.states) {
      const auto bytes = session.state(state.name);
      states[state.name].assign(bytes.begin(), bytes.end());
    }
    return states;
  }
};

TEST_F(GpuOffload, GivesTheSameBits) {
  const OffloadOnGpu cases[] = {{DType::bf16, 1, 1 << 14},       {DType::bf16, 0.6, 1 << 13},
                                {DType::bf16, 1, 1 << 14, true}, {DType::f16, 1, 1 << 14},
                                {DType::f32, 1, 1 << 14},        {DType::bf16, 1, 1 << 30}};
  for (const OffloadOnGpu& c : cases) {
    const Plan whole = offloaded_plan(c.storage, 0, 0, c.accumulates),
               some = offloaded_plan(c.storage, c.share, c.bucket, c.accumulates);
    EXPECT_LT(executor_memory(some).states, executor_memory(whole).states);
    EXPECT_GT(executor_memory(some).host, 0);
    const auto expected = train(whole, c.accumulates), actual = train(some, c.accumulates);
    for (const auto& [name, bytes] : expected)
      EXPECT_TRUE(actual.at(name) == bytes)
          << name << ", " << smelt::name(c.storage) << ", share " << c.share << ", bucket " << c.bucket;
  }
}

TEST_F(GpuOffload, IsInCheckpoints) {
  const TemporaryDirectory d;
  const Plan whole = offloaded_plan(DType::bf16, 0, 0, false),
             some = offloaded_plan(DType::bf16, 0.7, 1 << 13, false);
  Session first = small_model({}, some);
  run(first, "train_step", kBatch, kLength);
  write_checkpoint(d / "c.safetensors", first, {1, "{}", {}});
  Session second = small_model({}, whole);
  read_checkpoint(d / "c.safetensors", second);
  for (Session* session : {&first, &second}) {  // what is no part of a checkpoint is made again
    session->set_random(7, 1);
    run(*session, "train_step", kBatch, kLength);
  }
  for (const State& state : whole.states) {
    const auto a = first.state(state.name), b = second.state(state.name);
    EXPECT_TRUE(std::ranges::equal(a, b)) << state.name;
  }
}

}  // namespace
}  // namespace smelt
