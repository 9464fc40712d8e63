// Checkpoints whose states ranks have parts of: written by some ranks, read by others.
#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/training/stored_states.h"
#include "runtime/plan/state_parts.h"
#include "runtime/session/session.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"

namespace smelt {
namespace {

/// A place in a mesh without anybody at the others.
class PlaceOnly : public RankGroups {
 public:
  PlaceOnly(Mesh mesh, int64_t rank) : mesh_(std::move(mesh)), rank_(rank) {}
  const Mesh& mesh() const override { return mesh_; }
  int64_t rank() const override { return rank_; }
  Communicator& along(size_t) override { throw std::logic_error("nobody is there"); }
  Communicator& everyone() override { throw std::logic_error("nobody is there"); }
  void progress(std::string_view, int64_t) override {}
  void report_failure(std::string_view) override {}

 private:
  Mesh mesh_;
  int64_t rank_;
};

struct PartsCase {
  int64_t ranks = 1;
  int zero = 1;         // 1: moments and masters, 3: the rounded copy too
  int64_t buckets = 2;  // 0: one dim
  int64_t model = 1;    // ranks that have columns of the second tensor
  int64_t all() const { return ranks * model; }
};

constexpr int64_t kFirst = 37, kSecond = 6 * 12;

std::vector<Segment> parts_segments(const PartsCase& c) {
  Segment first, second;
  first.name = "a", first.shape = {kFirst}, first.checkpoint_names = {"model.a"};
  second.name = "b", second.shape = {6, 12}, second.offset = 48, second.transposed = true;
  first.init = second.init = {Initializer::Kind::normal, 0.5, 3};
  if (c.model > 1) {
    second.whole = second.shape;
    second.cut = {{}, {"model"}};
    second.shape[1] /= c.model;
  }
  return {first, second};
}

/// f32 masters with a bf16 copy, a moment, sums and a counter.
Plan parts_plan(const PartsCase& c) {
  Plan plan;
  plan.target = "test";
  if (c.all() > 1) plan.mesh = Mesh{{{"data", c.ranks}, {"model", c.model}}};
  const int64_t width = ((48 + kSecond / c.model) / std::max<int64_t>(1, c.buckets) / c.ranks + 1) * c.ranks;
  const auto add = [&](const char* name, Role role, DType dtype, bool cut) {
    State state;
    state.name = name, state.role = role, state.dtype = dtype, state.segments = parts_segments(c);
    state.shape = c.buckets == 0 ? Shape{width} : Shape{c.buckets, width};
    if (cut && c.ranks > 1) {
      state.whole = state.shape;
      state.cut.resize(state.shape.size());
      state.cut.back() = {"data"};
      state.shape.back() = Dim(width / c.ranks);
    }
    plan.states.push_back(state);
  };
  add("parameters", Role::parameter, DType::f32, true);
  add("parameters.bf16", Role::parameter, DType::bf16, c.zero == 3);
  plan.states.back().copy_of = "parameters";
  add("momentum", Role::optimizer, DType::f32, true);
  add("gradients", Role::gradient, DType::f32, false);
  plan.states.push_back({.name = "step", .dtype = DType::f32, .shape = {}, .init = {}});
  return plan;
}

/// One session a rank.
struct PartsModel {
  explicit PartsModel(const PartsCase& c) : plan(std::make_shared<const Plan>(parts_plan(c))) {
    for (int64_t rank = 0; rank < c.all(); ++rank) {
      places.push_back(std::make_unique<PlaceOnly>(plan->mesh, rank));
      sessions.push_back(std::make_unique<Session>(
          plan, std::make_unique<UnigramExecutor>(*plan, c.all() > 1 ? places.back().get() : nullptr), 0));
    }
  }

  std::filesystem::path save(const std::filesystem::path& directory, int64_t step, int64_t keep = 0) {
    CheckpointDirectory checkpoints(directory, keep);  // removes parts that no index names
    std::vector<std::string> parts;
    for (const auto& session : sessions)
      parts.push_back(write_checkpoint_part(checkpoint_path(directory, step), *session, step));
    return checkpoints.save(*sessions[0], {step, "{}", {}}, parts);
  }
  void read(const std::filesystem::path& path) {
    for (const auto& session : sessions) read_checkpoint(path, *session);
  }
  /// The tensor, put together from all ranks.
  std::vector<float> tensor(const std::string& state, const std::string& name) const {
    const State& declared = *plan->find_state(state);
    std::vector<float> values(name == "a" ? kFirst : kSecond, NAN);
    for (size_t rank = 0; rank < sessions.size(); ++rank) {
      const Session& session = *sessions[rank];
      const auto* held = reinterpret_cast<const float*>(session.state(state).data());
      for (const TensorRun& run : whole_tensor_runs(declared, plan->mesh, static_cast<int64_t>(rank)))
        if (run.segment->name == name) std::copy_n(held + run.local, run.elements, values.begin() + run.at);
    }
    return values;
  }
  /// The bytes of the copy's first tensor at a rank that has all of it.
  std::string copy_of_first() const {
    const auto bytes = std::as_const(*sessions.back()).state("parameters.bf16");
    return {reinterpret_cast<const char*>(bytes.data()), 2 * kFirst};
  }

  std::shared_ptr<const Plan> plan;
  std::vector<std::unique_ptr<PlaceOnly>> places;
  std::vector<std::unique_ptr<Session>> sessions;
};

void fill_in(PartsModel& model) {
  for (const auto& session : model.sessions) {
    session->initialize(7);
    std::vector<float> first(kFirst), second(kSecond);
    for (size_t i = 0; i < first.size(); ++i) first[i] = 1 + 0.37f * static_cast<float>(i);
    for (size_t i = 0; i < second.size(); ++i) second[i] = -2 - 0.11f * static_cast<float>(i);
    session->write_segment("momentum", "a", first);
    session->write_segment("momentum", "b", second);
    session->scalar("step") = 12;
  }
}

const PartsCase kPartsCases[] = {{1, 1, 0}, {1, 1, 3}, {2, 1, 2},    {3, 1, 1},   {4, 3, 3},
                                 {8, 3, 1}, {2, 1, 0}, {1, 1, 0, 2}, {2, 3, 2, 3}};

const PartsCase kReaderCases[] = {{1, 1, 0}, {3, 1, 2}, {4, 3, 3}, {2, 1, 1, 2}};

TEST(CheckpointParts, InitialValuesAreThoseOfOneRank) {
  PartsModel one({1, 1, 0});
  fill_in(one);
  for (const PartsCase& c : kPartsCases) {
    PartsModel model(c);
    fill_in(model);
    for (const char* name : {"a", "b"})
      EXPECT_EQ(model.tensor("parameters", name), one.tensor("parameters", name)) << c.ranks;
  }
}

TEST(CheckpointParts, AnyNumberOfRanksReadsThoseOfAnyOther) {
  PartsModel one({1, 1, 0});
  fill_in(one);
  for (const PartsCase& from : kPartsCases)
    for (const PartsCase& to : kReaderCases) {
      const TemporaryDirectory d;
      PartsModel writer(from), reader(to);
      fill_in(writer);
      reader.read(writer.save(d.path(), 12));
      for (const char* state : {"parameters", "momentum"})
        for (const char* name : {"a", "b"})
          EXPECT_EQ(reader.tensor(state, name), one.tensor(state, name)) << from.ranks << " " << to.ranks;
      EXPECT_EQ(reader.sessions.back()->scalar("step"), 12);
      const Checkpoint weights = open_weights(d / "step-0000000012.safetensors");
      EXPECT_EQ(read_floats(weights.at("model.a")), one.tensor("parameters", "a"));
      EXPECT_EQ(weights.at("b").shape, (std::vector<int64_t>{12, 6}));
    }
}

/// Where a rank has all of the rounded copy and a part of the masters, nobody rounds the others' later.
TEST(CheckpointParts, RoundedCopiesThatAreWholeAreMadeWithThem) {
  PartsModel model({2, 1, 2}), read({2, 1, 2});
  fill_in(model);
  const TemporaryDirectory d;
  read.read(model.save(d.path(), 1));
  const std::vector<float> expected = model.tensor("parameters", "a");
  std::vector<uint16_t> rounded(kFirst);
  std::memcpy(rounded.data(), model.copy_of_first().data(), 2 * kFirst);
  for (size_t i = 0; i < expected.size(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(rounded[i]) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    EXPECT_NEAR(value, expected[i], 0.004f * std::abs(expected[i])) << i;
  }
  EXPECT_EQ(read.copy_of_first(), model.copy_of_first());
}

TEST(CheckpointParts, OfAMissingOrDamagedFileTheOneBeforeIsTaken) {
  const auto damage = [](const std::filesystem::path& path, int kind) {
    if (kind == 0) return void(std::filesystem::remove(path));
    std::string bytes = read_text_file(path);
    if (kind == 1) bytes.resize(bytes.size() / 2);
    if (kind == 2) bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(path, bytes);
  };
  for (int kind = 0; kind < 3; ++kind) {
    const TemporaryDirectory d;
    PartsModel model({2, 1, 2});
    fill_in(model);
    model.save(d.path(), 1), model.save(d.path(), 2);
    damage(d / "step-0000000002.rank-1-of-2.safetensors", kind);
    EXPECT_HAS(message_of([&] { model.read(d / "step-0000000002.safetensors"); }), "rank-1-of-2");
    std::string log;
    const auto info =
        CheckpointDirectory(d.path(), 0).restore(*model.sessions[0], [&](std::string_view text) {
          log += text;
        });
    ASSERT_TRUE(info);
    EXPECT_EQ(info->step, 1);
    EXPECT_HAS(log, "step-0000000002.rank-1-of-2.safetensors");
    EXPECT_EQ(list_checkpoints(d.path()).size(), 1u);
  }
}

/// Parts exist from when their index does, and go with it.
TEST(CheckpointParts, AreRemovedWithTheirIndex) {
  const TemporaryDirectory d;
  PartsModel model({3, 1, 1});
  fill_in(model);
  for (const int64_t step : {1, 2, 3}) model.save(d.path(), step, 2);
  EXPECT_EQ(list_checkpoints(d.path()).size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(d / "step-0000000001.rank-0-of-3.safetensors"));
  write_checkpoint_part(checkpoint_path(d.path(), 4), *model.sessions[1], 4);
  EXPECT_TRUE(std::filesystem::exists(d / "step-0000000004.rank-1-of-3.safetensors"));
  EXPECT_EQ(list_checkpoints(d.path()).size(), 2u);
  const CheckpointDirectory again(d.path(), 2);
  EXPECT_FALSE(std::filesystem::exists(d / "step-0000000004.rank-1-of-3.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(d / "step-0000000003.rank-1-of-3.safetensors"));
}

TEST(CheckpointParts, OfAnotherModelAreRefused) {
  const TemporaryDirectory d;
  PartsModel model({2, 1, 2});
  const auto path = model.save(d.path(), 1);
  auto other = std::make_shared<Plan>(parts_plan({1, 1, 0}));
  for (State& state : other->states)
    for (Segment& segment : state.segments)
      if (segment.name == "b") segment.shape = {12, 6};
  Session session(other, std::make_unique<UnigramExecutor>(*other), 0);
  EXPECT_HAS(message_of([&] { read_checkpoint(path, session); }),
             "belongs to another plan: state 'parameters' is");
  EXPECT_HAS(message_of([&] { write_checkpoint(path, *model.sessions[0], {1, "{}", {}}); }),
             "is written by all 2 of them");
}

TEST(CheckpointParts, ARankCannotReadTheirSegmentsAlone) {
  PartsModel model({2, 1, 2});
  EXPECT_HAS(message_of([&] { model.sessions[0]->read_segment("parameters", "a"); }),
             "lies in parts at several ranks");
}

}  // namespace
}  // namespace smelt
