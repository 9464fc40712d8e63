// Stages of a pipeline on GPUs: threads with a GPU each follow every schedule, and what they keep and send
// stays in device memory. Messages are taken from the sender's memory when the receiver is there, so that a
// place that is used again too early, or a message in the wrong order, changes the numbers.
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/engine/training/pipeline_worker.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

constexpr int64_t kMostColumns = 4, kMostParts = 12;

/// Appends buffers, ports and kernels of one stage.
class StagePlanMaker {
 public:
  StagePlanMaker(const Mesh& mesh, int64_t stages, int64_t stage, int64_t parts) {
    plan_.target = "sm_90";
    plan_.mesh = mesh;
    plan_.symbols.bound({"B"}, kMostColumns);
    add_gradients(stages, stage);
    plan_.entries.push_back({.name = "batch"});
    input(plan_.entries.back(), "x");
    for (int64_t part = stage; part < parts; part += stages) add_part(part, parts);
  }
  Plan plan_;

 private:
  /// One number of this stage's, and one that the first and the last stage hold.
  void add_gradients(int64_t stages, int64_t stage) {
    State gradients{"gradients", Role::gradient, DType::f32, {Dim(2)}, {}, {}};
    gradients.segments = {{"own", {1}, 0, {}, true, {"own"}}, {"tied", {1}, 1, {}, true, {"tied"}}};
    if (stage == 0 || stage == stages - 1) gradients.segments[1].stages = {0, stages - 1};
    plan_.states = {gradients};
    plan_.buffers.push_back(
        {.name = "gradients", .role = Role::gradient, .elements = Dim(2), .state = 0, .bytes = 8});
  }
  int buffer(const std::string& name, Role role) {
    plan_.buffers.push_back(
        {.name = name, .role = role, .elements = Dim::symbol("B"), .bytes = kMostColumns * 4});
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  int input(PlanEntry& entry, const std::string& name) {
    entry.inputs.push_back({name, DType::f32, {Dim::symbol("B")}, buffer(name, Role::input)});
    return entry.inputs.back().buffer;
  }
  int output(PlanEntry& entry, const std::string& name) {
    entry.outputs.push_back({name, DType::f32, {Dim::symbol("B")}, buffer(name, Role::output)});
    return entry.outputs.back().buffer;
  }
  void kernel(PlanEntry& entry, const std::string& name, const std::vector<int>& read,
              const std::vector<int>& written) {
    KernelCode code = {.name = name, .text = "", .dims = {Dim::symbol("B")}, .range = Dim(1), .grain = 1};
    const auto known = std::ranges::find(plan_.kernels, name, &KernelCode::name);  // forward's, of evaluate
    KernelStep step{static_cast<int>(known - plan_.kernels.begin()), {}, {}};
    for (const int buffer : read) code.parameters.push_back({}), step.arguments.push_back({buffer, 0});
    for (const int buffer : written)
      code.parameters.push_back({.written = true}), step.arguments.push_back({buffer, 0});
    code.threads = 1, code.binary = fake::code(name + ", as machine code");
    if (known == plan_.kernels.end()) plan_.kernels.push_back(code);
    std::vector<int> reads = read;
    if (written.back() == 0) reads.push_back(0);  // the state is added to
    entry.steps.push_back({step, reads, written, {}, {name}, "forward"});
  }
  void add_part(int64_t part, int64_t parts) {
    PlanEntry forward{.name = part_entry("forward", part)}, backward{.name = part_entry("backward", part)},
        evaluate{.name = part_entry("evaluate", part)};
    for (PlanEntry* entry : {&forward, &evaluate}) {
      int read = input(*entry, "x");
      if (part > 0) read = input(*entry, fmt::format("values.{}.0", part));
      const bool is_result = part + 1 == parts && entry == &evaluate;
      const int made = output(*entry, is_result ? "result" : fmt::format("values.{}.0", part + 1));
      const int saved = output(*entry, fmt::format("saved.{}.0", part));
      kernel(*entry, fmt::format("f{}", part), {read}, {made, saved});
    }
    const int x = input(backward, "x"), saved = input(backward, fmt::format("saved.{}.0", part));
    const int given = part + 1 == parts ? saved : input(backward, fmt::format("gradients.{}.0", part + 1));
    const int made = output(backward, fmt::format("gradients.{}.0", part));
    kernel(backward, fmt::format("b{}", part), {x, saved, given}, {made, 0});
    for (PlanEntry* entry : {&forward, &backward, &evaluate}) plan_.entries.push_back(*entry);
  }
};

/// y = 2 x + part, saved = y + 1
void forward(int64_t part, const KernelCall& call) {
  const auto* x = call.argument<const float*>(0);
  auto *y = call.argument<float*>(1), *saved = call.argument<float*>(2);
  for (int64_t i = 0; i < call.argument<int64_t>(4); ++i) {
    y[i] = 2 * x[i] + static_cast<float>(part);
    saved[i] = y[i] + 1;
  }
}

/// What it gives on is given - saved; gradients[0] += sum of it + x, gradients[1] += part + 1.
void backward(int64_t part, const KernelCall& call) {
  const auto *x = call.argument<const float*>(0), *saved = call.argument<const float*>(1),
             *given = call.argument<const float*>(2);
  auto *made = call.argument<float*>(3), *gradients = call.argument<float*>(4);
  for (int64_t i = 0; i < call.argument<int64_t>(6); ++i) {
    made[i] = given[i] - saved[i];
    gradients[0] += made[i] + x[i];
  }
  gradients[1] += static_cast<float>(part + 1);
}

float fed(int64_t data, int64_t micro_batch, int64_t i) {
  return static_cast<float>((3 * data + 5 * micro_batch + 2 * i) % 7);
}
int64_t columns(int64_t micro_batch) { return 1 + micro_batch % kMostColumns; }

struct StageSums {
  std::vector<float> own, tied;  // by part
};

/// What backward of each part adds to the gradients.
StageSums expected_sums(int64_t data, int64_t parts, int64_t micro_batches) {
  StageSums sums{std::vector<float>(static_cast<size_t>(parts)), {}};
  for (int64_t part = 0; part < parts; ++part)
    sums.tied.push_back(static_cast<float>((part + 1) * micro_batches));
  for (int64_t micro = 0; micro < micro_batches; ++micro)
    for (int64_t i = 0; i < columns(micro); ++i) {
      std::vector<float> saved;
      float y = fed(data, micro, i);
      for (int64_t part = 0; part < parts; ++part)
        y = 2 * y + static_cast<float>(part), saved.push_back(y + 1);
      float gradient = saved.back();
      for (size_t part = saved.size(); part-- > 0;) {
        gradient -= saved[part];
        sums.own[part] += gradient + fed(data, micro, i);
      }
    }
  return sums;
}

struct StageTrial {
  const char* mesh;
  PipelineOrder order;
  int64_t parts_a_stage = 1;
  std::vector<int64_t> micro_batches = {1, 5};
};

class GpuStages : public FakeGpu {
 protected:
  GpuStages() {
    gpu(0).count = kMostGpus;
    for (int device = 0; device < kMostGpus; ++device)
      for (int64_t part = 0; part < kMostParts; ++part) {
        gpu(device).kernels[fmt::format("f{}", part)] = {
            6, [part](const KernelCall& call) { forward(part, call); }};
        gpu(device).kernels[fmt::format("b{}", part)] = {
            8, [part](const KernelCall& call) { backward(part, call); }};
      }
  }

  struct Place {
    int64_t stages, stage, parts, data;
  };
  static Place place_of(RankGroups& ranks, int64_t parts_a_stage) {
    const Mesh& mesh = ranks.mesh();
    const size_t axis = *mesh.find(kStageAxis);
    const std::vector<int64_t> place = mesh.coordinates(ranks.rank());
    const auto data = mesh.find("data");
    return {mesh.axes[axis].size, place[axis], mesh.axes[axis].size * parts_a_stage, data ? place[*data] : 0};
  }
  static std::unique_ptr<Session> session_of(Plan plan, RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    return std::make_unique<Session>(std::make_shared<const Plan>(std::move(plan)), options);
  }
  static void fill(int64_t data, int64_t micro_batch, Batch& batch) {
    auto* x = reinterpret_cast<float*>(batch.add("x", DType::f32, {columns(micro_batch)}));
    for (int64_t i = 0; i < columns(micro_batch); ++i) x[i] = fed(data, micro_batch, i);
  }
  static PipelineWorker::Host host_of(int64_t data) {
    return {[data](int64_t micro_batch, Batch& batch) { fill(data, micro_batch, batch); },
            [](int64_t, const PlanEntry&, const SymbolValues&) {}};
  }

  /// Step by step, captured, and from the graphs.
  static void expect_sums(RankGroups& ranks, const StageTrial& trial) {
    const Place place = place_of(ranks, trial.parts_a_stage);
    const auto session =
        session_of(StagePlanMaker(ranks.mesh(), place.stages, place.stage, place.parts).plan_, ranks);
    PipelineWorker worker(*session, trial.order, host_of(place.data));
    for (const int64_t micro_batches : trial.micro_batches)
      for (int turn = 0; turn < 3; ++turn) {
        session->clear_state("gradients");
        const size_t before = downloads();
        worker.accumulate(micro_batches);
        EXPECT_EQ(downloads(), before) << "something passed through the host";
        check(*session, place, expected_sums(place.data, place.parts, micro_batches));
      }
  }
  static size_t downloads() { return static_cast<size_t>(gpu(current_device()).downloads); }

  static void check(Session& session, const Place& place, const StageSums& sums) {
    float own = 0, tied = 0;
    for (int64_t part = 0; part < place.parts; ++part) {
      const int64_t holder = part % place.stages;
      const bool is_end = place.stage == 0 || place.stage == place.stages - 1;
      const bool other_end = holder == 0 || holder == place.stages - 1;
      if (holder == place.stage) own += sums.own[static_cast<size_t>(part)];
      if (holder == place.stage || (is_end && other_end)) tied += sums.tied[static_cast<size_t>(part)];
    }
    const auto gradients = session.state_f32("gradients");
    EXPECT_EQ(gradients[0], own);
    EXPECT_EQ(gradients[1], tied);
  }
};

TEST_F(GpuStages, AddUpWhatOneRankWould) {
  const StageTrial trials[] = {{"stage=2", PipelineOrder::gpipe},
                               {"stage=2", PipelineOrder::one_f_one_b},
                               {"stage=2", PipelineOrder::interleaved, 3},
                               {"stage=3", PipelineOrder::one_f_one_b},
                               {"stage=3", PipelineOrder::interleaved, 2},
                               {"stage=4", PipelineOrder::gpipe},
                               {"stage=4", PipelineOrder::one_f_one_b},
                               {"stage=4", PipelineOrder::interleaved, 3},
                               {"data=2,stage=2", PipelineOrder::one_f_one_b}};
  for (const bool peers : {true, false})
    for (const StageTrial& trial : trials) {
      SCOPED_TRACE(fmt::format("{} {}, {}", trial.mesh, name(trial.order), peers ? "copies" : "NCCL"));
      gpu(0).has_peers = peers;
      test::ThreadRanks(parse_mesh(trial.mesh)).run([&](RankGroups& ranks) { expect_sums(ranks, trial); });
    }
  EXPECT_GT(gpu(0).graph_launches, 0);
}

/// The last stage has the results; the others wait for nothing.
TEST_F(GpuStages, EvaluateTogether) {
  test::ThreadRanks(parse_mesh("stage=3")).run([](RankGroups& ranks) {
    const Place place = place_of(ranks, 2);
    const auto session =
        session_of(StagePlanMaker(ranks.mesh(), place.stages, place.stage, place.parts).plan_, ranks);
    PipelineWorker worker(*session, PipelineOrder::interleaved, host_of(0));
    for (int64_t number = 0; number < 6; ++number) {
      Batch batch;
      fill(0, number, batch);
      const std::vector<HostTensor> outputs = worker.evaluate(batch);
      ASSERT_EQ(outputs.size(), place.stage == 2 ? 1u : 0u);
      if (outputs.empty()) continue;
      for (int64_t i = 0; i < columns(number); ++i) {
        float y = fed(0, number, i);
        for (int64_t part = 0; part < place.parts; ++part) y = 2 * y + static_cast<float>(part);
        EXPECT_EQ(outputs[0].as<float>()[static_cast<size_t>(i)], y);
      }
    }
  });
}

/// Stages that wait on their GPUs for one that has failed end with its text.
TEST_F(GpuStages, EndWithTheOneThatFails) {
  std::vector<std::string> said(2);
  const auto work = [&](RankGroups& ranks) {
    const Place place = place_of(ranks, 1);
    const auto session =
        session_of(StagePlanMaker(ranks.mesh(), place.stages, place.stage, place.parts).plan_, ranks);
    PipelineWorker::Host host = host_of(0);
    host.fill = [&](int64_t micro_batch, Batch& batch) {
      if (ranks.rank() == 1 && micro_batch == 2) fail("the disk is full");
      fill(0, micro_batch, batch);
    };
    try {
      PipelineWorker(*session, PipelineOrder::one_f_one_b, host).accumulate(6);
    } catch (const Error& error) {
      said[static_cast<size_t>(ranks.rank())] = error.what();
      ranks.report_failure(error.what());
      throw;
    }
  };
  EXPECT_THROW(test::ThreadRanks(parse_mesh("stage=2")).run(work), Error);
  for (const std::string& text : said) EXPECT_NE(text.find("the disk is full"), std::string::npos) << text;
}

/// Entries of a stage have no memory for what it keeps but the stage's.
TEST_F(GpuStages, RunNoPartAlone) {
  test::ThreadRanks(parse_mesh("stage=2")).run([](RankGroups& ranks) {
    const Place place = place_of(ranks, 1);
    const auto session =
        session_of(StagePlanMaker(ranks.mesh(), place.stages, place.stage, place.parts).plan_, ranks);
    const float x = 1;
    std::vector<InputTensor> inputs = {{"x", DType::f32, {1}, &x}};
    if (place.stage == 1) inputs.push_back({"values.1.0", DType::f32, {1}, &x});
    EXPECT_THROW(session->run(part_entry("forward", place.stage), inputs), Error);
  });
}

}  // namespace
}  // namespace smelt::fake
