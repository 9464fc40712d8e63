// Plans of several ranks on GPUs: what collectives leave, step by step and in graphs, beside other steps, and
// when a rank fails.
#include "runtime/base/error.h"
#include "runtime/cuda/nccl.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

constexpr int64_t kPart = 3;

/// One entry: each kind of collective makes an output of the input x, which has a part for every rank; `note`
/// runs while the first of them is under way.
Plan collective_plan(const Mesh& mesh, int64_t ranks, const std::string& axis) {
  Plan plan;
  plan.target = "sm_90";
  plan.mesh = mesh;
  for (const MeshAxis& each : mesh.axes) plan.symbols.bound({coordinate(each)}, each.size - 1, 0);
  PlanEntry entry{.name = "g"};
  const auto port = [&](const char* name, Role role, int64_t elements) {
    const auto number = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back({.name = name, .role = role, .elements = elements, .bytes = elements * 4});
    (role == Role::input ? entry.inputs : entry.outputs)
        .push_back({name, DType::f32, {Dim(elements)}, number});
    return number;
  };
  const int x = port("x", Role::input, kPart * ranks);
  const auto add = [&](const char* name, CollectiveKind kind, int64_t elements, int64_t made,
                       CollectiveSum sum = CollectiveSum::add) {
    const int to = port(name, Role::output, made);
    const CollectiveStep step{kind, axis, {x, 0}, {to, 0}, elements, ranks, DType::f32, sum};
    entry.steps.push_back({step, {x}, {to}, {}, {name}, "forward"});
  };
  add("sum", CollectiveKind::all_reduce, kPart * ranks, kPart * ranks);
  std::get<CollectiveStep>(entry.steps[0].what).waited_at = 3;
  KernelCode& kernel = plan.kernels.emplace_back();
  kernel.name = "note", kernel.range = Dim(1), kernel.grain = 1, kernel.parameters = {{}};
  kernel.random_ids = 2, kernel.threads = 1, kernel.binary = code("note, as machine code");
  KernelStep note{0, {{x, 0}}, {4, 5}};
  note.random_parts.assign(2, {Dim(ranks), Dim::symbol(axis + ".rank")});
  entry.steps.push_back({note, {x}, {}, {}, {"note"}, "forward"});
  add("largest", CollectiveKind::all_reduce, kPart * ranks, kPart * ranks, CollectiveSum::max);
  add("scattered", CollectiveKind::reduce_scatter, kPart, kPart);
  add("gathered", CollectiveKind::all_gather, kPart * ranks, kPart * ranks * ranks);
  add("exchanged", CollectiveKind::all_to_all, kPart, kPart * ranks);
  plan.entries = {entry};
  return plan;
}

/// What rank `rank` feeds in run `run`.
float number(int64_t rank, int64_t run, int64_t i) {
  return static_cast<float>((3 * rank + 5 * run + 7 * i) % 13) - 4;
}

using Outputs = std::vector<std::vector<float>>;

Outputs expected(const std::vector<int64_t>& group, int64_t place, int64_t run) {
  const auto ranks = static_cast<int64_t>(group.size()), all = kPart * ranks;
  Outputs made(5);
  for (int64_t i = 0; i < all; ++i) {
    float sum = 0, most = number(group[0], run, i);
    for (const int64_t rank : group) sum += number(rank, run, i), most = std::max(most, number(rank, run, i));
    made[0].push_back(sum), made[1].push_back(most);
    if (i / kPart == place) made[2].push_back(sum);
  }
  for (const int64_t rank : group)
    for (int64_t i = 0; i < all; ++i) made[3].push_back(number(rank, run, i));
  for (const int64_t rank : group)
    for (int64_t i = 0; i < kPart; ++i) made[4].push_back(number(rank, run, place * kPart + i));
  return made;
}

class GpuRanks : public FakeGpu {
 protected:
  GpuRanks() {
    gpu(0).count = kMostGpus;
    for (int device = 0; device < kMostGpus; ++device)
      gpu(device).kernels["note"] = {5, [this, device](const KernelCall& call) {
                                       const auto* key = call.argument<const uint32_t*>(1);
                                       micro_steps_[static_cast<size_t>(device)] = key[2];
                                     }};
  }

  static Outputs run(Session& session, int64_t rank, int64_t run, int64_t elements) {
    std::vector<float> x;
    for (int64_t i = 0; i < elements; ++i) x.push_back(number(rank, run, i));
    const InputTensor input{"x", DType::f32, {elements}, x.data()};
    Outputs outputs;
    for (const HostTensor& tensor : session.run("g", {&input, 1})) {
      const auto values = tensor.as<float>();
      outputs.emplace_back(values.begin(), values.end());
    }
    return outputs;
  }
  static std::unique_ptr<Session> session_of(const Plan& plan, RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    return std::make_unique<Session>(std::make_shared<const Plan>(plan), options);
  }

  std::array<uint32_t, kMostGpus> micro_steps_{};
};

/// Step by step, captured, and from the graph.
TEST_F(GpuRanks, GetWhatTheirCollectivesMake) {
  for (const char* text : {"data=2", "data=3", "data=4", "data=2,model=2"})
    for (const std::string axis : {"data", "model"}) {
      const Mesh mesh = parse_mesh(text);
      if (!mesh.find(axis)) continue;
      const size_t number = *mesh.find(axis);
      const Plan plan = collective_plan(mesh, mesh.axes[number].size, axis);
      test::ThreadRanks(mesh).run([&](RankGroups& ranks) {
        const auto session = session_of(plan, ranks);
        const std::vector<int64_t> group = mesh.group(ranks.rank(), number);
        const int64_t place = mesh.coordinates(ranks.rank())[number];
        for (int64_t turn = 0; turn < 4; ++turn)
          EXPECT_EQ(run(*session, ranks.rank(), turn, kPart * std::ssize(group)),
                    expected(group, place, turn))
              << text << " along " << axis << ", rank " << ranks.rank() << ", run " << turn;
      });
      EXPECT_GT(gpu(0).graph_launches, 0);
    }
}

/// As tokens that a plan chooses: several runs are started at once, each with its collectives.
TEST_F(GpuRanks, RunAheadOfTheirHosts) {
  const Mesh mesh = parse_mesh("model=2");
  const Plan plan = collective_plan(mesh, 2, "model");
  test::ThreadRanks(mesh).run([&](RankGroups& ranks) {
    const auto session = session_of(plan, ranks);
    std::vector<float> x;
    for (int64_t i = 0; i < kPart * 2; ++i) x.push_back(number(ranks.rank(), 0, i));
    const InputTensor input{"x", DType::f32, {kPart * 2}, x.data()};
    for (const int runs : {1, 5, 3}) session->repeat("g", {&input, 1}, runs);
    session->synchronize();
    EXPECT_EQ(run(*session, ranks.rank(), 1, kPart * 2), expected({0, 1}, ranks.rank(), 1));
  });
  EXPECT_GE(gpu(0).graph_launches, 5);
}

/// A part of a batch draws what a micro-step of its own would.
TEST_F(GpuRanks, DrawForTheirPartOfTheBatch) {
  const Mesh mesh = parse_mesh("data=3");
  const Plan plan = collective_plan(mesh, 3, "data");
  test::ThreadRanks(mesh).run([&](RankGroups& ranks) {
    const auto session = session_of(plan, ranks);
    session->set_random(0, 2, 5);
    run(*session, ranks.rank(), 0, kPart * 3);
  });
  const Philox random{0, 2, uint32_t{5} << 16};
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(micro_steps_[static_cast<size_t>(rank)], random.of_part(3, rank).micro_step);
}

/// Ranks that wait on their GPUs for one that has failed are ended, with its text.
TEST_F(GpuRanks, EndWithTheOneThatFails) {
  const Mesh mesh = parse_mesh("data=3");
  const Plan plan = collective_plan(mesh, 3, "data");
  std::vector<std::string> said(3);
  const auto work = [&](RankGroups& ranks) {
    const auto session = session_of(plan, ranks);
    try {
      run(*session, ranks.rank(), 0, kPart * 3);
      if (ranks.rank() == 1) fail("the disk is full");
      for (int64_t turn = 1; turn < 3; ++turn) run(*session, ranks.rank(), turn, kPart * 3);
    } catch (const Error& error) {
      said[static_cast<size_t>(ranks.rank())] = error.what();
      throw;
    }
  };
  EXPECT_THROW(test::ThreadRanks(mesh).run(work), Error);
  EXPECT_EQ(said[1], "the disk is full");
  for (const size_t rank : {0, 2})
    EXPECT_NE(said[rank].find("the disk is full"), std::string::npos) << said[rank];
}

TEST_F(GpuRanks, AreThoseOfThePlan) {
  const Plan plan = collective_plan(parse_mesh("data=2"), 2, "data");
  EXPECT_THROW(
      test::ThreadRanks(parse_mesh("data=3")).run([&](RankGroups& ranks) { session_of(plan, ranks); }),
      Error);
  EXPECT_EQ(cuda::nccl_info().version, "2.27.3");
}

}  // namespace
}  // namespace smelt::fake
