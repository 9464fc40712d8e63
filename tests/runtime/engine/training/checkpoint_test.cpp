// Checkpoints against kills, full disks and damage. The faults are the system's own, in forked children: a
// limit on file sizes makes each write in turn fail, SIGKILL comes at random moments.
#include "runtime/engine/training/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <random>

#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint_layout.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"

namespace smelt {
namespace {

constexpr int64_t kVocabulary = 4001;  // 32 KB of states

void fill(Session& session, float value) {
  for (const char* name : {"parameters", "momentum"})
    for (float& x : session.state_f32(name)) x = value;
  session.scalar("step") = value;
}

bool is_filled(Session& session, float value) {
  for (const char* name : {"parameters", "momentum"})
    for (const float x : session.state_f32(name))
      if (x != value) return false;
  return session.scalar("step") == value;
}

/// The value of the newest whole checkpoint, -1 where there is none; fails where its states are torn.
float restored(const TemporaryDirectory& d, std::string* log = nullptr) {
  Unigram model(kVocabulary);
  CheckpointDirectory checkpoints(d.path(), 0);
  const auto info = checkpoints.restore(*model.session, [&](std::string_view text) {
    if (log) *log += std::string(text) + "\n";
  });
  if (!info) return -1;
  EXPECT_TRUE(is_filled(*model.session, static_cast<float>(info->step)));
  return static_cast<float>(info->step);
}

CheckpointInfo info_of(int64_t step) { return {step, R"({"steps": 10})", {}}; }

TEST(Checkpoint, HoldsEverythingButGradients) {
  const TemporaryDirectory d;
  Unigram a(kVocabulary), b(kVocabulary);
  fill(*a.session, 3);
  fill(*b.session, 9);
  b.session->state_f32("gradients")[5] = 1;
  write_checkpoint(d / "c.safetensors", *a.session, {12, "{\"x\": 1}", {}});
  const CheckpointInfo info = read_checkpoint(d / "c.safetensors", *b.session);
  EXPECT_EQ(info.step, 12);
  EXPECT_EQ(info.trainer, "{\"x\": 1}");
  EXPECT_TRUE(is_filled(*b.session, 3));
  EXPECT_EQ(b.session->state_f32("gradients")[5], 0);
}

TEST(Checkpoint, KeepsTheNewestN) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary);
  CheckpointDirectory checkpoints(d.path(), 2);
  for (const int64_t step : {5, 10, 100, 1000}) checkpoints.save(*model.session, info_of(step));
  const auto left = checkpoints.list();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_HAS(left[0].filename().string(), "0000000100");
  EXPECT_HAS(left[1].filename().string(), "0000001000");
}

/// Saves step 2 in a child that may not write files longer than `limit`; returns whether the child reported
/// an Error.
bool save_fails_within(const TemporaryDirectory& d, rlim_t limit) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);  // the write fails with EFBIG instead
    const rlimit size{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &size);
    int result = 0;
    try {
      Unigram model(kVocabulary);
      fill(*model.session, 2);
      CheckpointDirectory(d.path(), 1).save(*model.session, info_of(2));
    } catch (const Error& error) {
      result = error.status() == Status::io ? 1 : 2;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 2);
  return WEXITSTATUS(status) == 1;
}

TEST(Checkpoint, FullDiskAtAnyByteLeavesThePreviousOne) {
  bool succeeded = false;
  int failures = 0;
  for (rlim_t limit = 0; !succeeded; limit += limit < 1000 ? 61 : 2048) {
    const TemporaryDirectory d;
    Unigram model(kVocabulary);
    fill(*model.session, 1);
    CheckpointDirectory(d.path(), 1).save(*model.session, info_of(1));
    succeeded = !save_fails_within(d, limit);
    failures += !succeeded;
    EXPECT_EQ(restored(d), succeeded ? 2 : 1) << "limit " << limit;
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(d.path())) ++files;
    EXPECT_EQ(files, 1u) << "limit " << limit;
  }
  EXPECT_GT(failures, 20);
}

bool is_temporary(const std::filesystem::path& path) { return path.extension() == ".smelt-partial"; }

ptrdiff_t whole_files(const std::filesystem::path& directory) {
  return std::ranges::count_if(std::filesystem::directory_iterator(directory),
                               [](const auto& entry) { return !is_temporary(entry.path()); });
}

TEST(Checkpoint, KillAtAnyMomentLeavesAWholeOne) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> microseconds(0, 15'000);
  const TemporaryDirectory d;
  float newest = -1;
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Unigram model(kVocabulary);
      CheckpointDirectory checkpoints(d.path(), 2);
      for (int64_t step = static_cast<int64_t>(newest) + 1;; ++step) {
        fill(*model.session, static_cast<float>(step));
        checkpoints.save(*model.session, info_of(step));
      }
    }
    while (round == 0 && whole_files(d.path()) < 2) ::usleep(1000);  // a busy machine saves none in time
    ::usleep(static_cast<useconds_t>(microseconds(random)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const float now = restored(d);
    EXPECT_GE(now, newest);
    newest = now;
    for (const auto& entry : std::filesystem::directory_iterator(d.path()))
      EXPECT_FALSE(is_temporary(entry.path()));
  }
  EXPECT_GT(newest, 0);
}

TEST(Checkpoint, ADamagedOneIsSetAsideAndThePreviousUsed) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const TemporaryDirectory d;
    Unigram model(kVocabulary);
    CheckpointDirectory checkpoints(d.path(), 0);
    for (const int64_t step : {1, 2}) {
      fill(*model.session, static_cast<float>(step));
      checkpoints.save(*model.session, info_of(step));
    }
    const auto newest = checkpoints.list().back();
    std::string bytes = read_text_file(newest);
    // Half of the rounds hit the header and its metadata.
    const size_t place = random() % (round % 2 ? 600 : bytes.size());
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8));
    if (round % 10 == 0) bytes.resize(random() % bytes.size());
    write_file(newest, bytes);
    std::string log;
    EXPECT_EQ(restored(d, &log), 1) << "byte " << place;
    EXPECT_HAS(log, newest.filename().string());
    EXPECT_TRUE(std::filesystem::exists(newest.string() + ".damaged"));
    EXPECT_EQ(checkpoints.list().size(), 1u);
  }
}

TEST(Checkpoint, WhereAllAreDamagedNothingIsTouched) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary);
  CheckpointDirectory checkpoints(d.path(), 0);
  for (const int64_t step : {1, 2}) checkpoints.save(*model.session, info_of(step));
  for (const auto& path : checkpoints.list()) write_file(path, "damaged");
  try {
    restored(d);
    FAIL() << "the run would begin anew";
  } catch (const Error& error) {
    EXPECT_HAS(error.what(), "none of the 2 checkpoints can be read");
    EXPECT_HAS(error.what(), "step-0000000002");
  }
  EXPECT_EQ(checkpoints.list().size(), 2u);
}

TEST(Checkpoint, FaultsOfIndicesAreNoPartOfARun) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary);
  write_checkpoint(d / "c.safetensors", *model.session, info_of(1));
  Plan guarded = unigram_plan(kVocabulary);
  guarded.states.push_back({.name = "index_fault/@loss gather",
                            .role = Role::fault,
                            .dtype = DType::i32,
                            .shape = {3},
                            .init = {}});
  const auto plan = std::make_shared<const Plan>(guarded);
  Session session(plan, std::make_unique<UnigramExecutor>(*plan), 0);
  EXPECT_EQ(read_checkpoint(d / "c.safetensors", session).step, 1);
}

TEST(Checkpoint, AnotherPlansIsAnErrorNotDamage) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary), other(7);
  CheckpointDirectory checkpoints(d.path(), 0);
  checkpoints.save(*model.session, info_of(1));
  const std::string message =
      message_of([&] { checkpoints.restore(*other.session, [](std::string_view) {}); });
  EXPECT_HAS(message, "belongs to another plan");
  EXPECT_HAS(message, "state 'parameters' is F32 [4001], the plan has F32 [7]");
  EXPECT_HAS(message, "state 'momentum'");
  EXPECT_EQ(checkpoints.list().size(), 1u);
}

/// The run would go on from an older one, and the newer file would be gone.
TEST(Checkpoint, AnotherVersionsIsAnErrorNotDamage) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary);
  CheckpointDirectory checkpoints(d.path(), 0);
  for (const int64_t step : {1, 2}) checkpoints.save(*model.session, info_of(step));
  const auto newest = checkpoints.list().back();
  std::string bytes = read_text_file(newest);
  const std::string format = "smelt-checkpoint-1";
  bytes[bytes.find(format) + format.size() - 1] = '9';
  write_file(newest, bytes);
  const std::string message =
      message_of([&] { checkpoints.restore(*model.session, [](std::string_view) {}); });
  EXPECT_HAS(message, "checkpoint format 'smelt-checkpoint-9', this Smelt reads 'smelt-checkpoint-1'");
  EXPECT_HAS(message, "smelt export");
  EXPECT_EQ(checkpoints.list().size(), 2u);
}

/// What a GPU's executor would record.
class ChoosingExecutor : public UnigramExecutor {
 public:
  using UnigramExecutor::UnigramExecutor;
  std::string choices() const override { return made; }
  std::string restore_choices(std::string_view given) override {
    made = given;
    return {};
  }
  std::string made;
};

TEST(Checkpoint, HoldsTheExecutorsChoices) {
  const TemporaryDirectory d;
  const auto plan = std::make_shared<const Plan>(unigram_plan(7));
  const auto choosing = [&](const char* choices) {
    auto executor = std::make_unique<ChoosingExecutor>(*plan);
    executor->made = choices;
    return Session(plan, std::move(executor));
  };
  const Session writer = choosing("\"a choice\"");
  write_checkpoint(d / "c.safetensors", writer, info_of(3));
  Session reader = choosing("another");
  EXPECT_EQ(read_checkpoint(d / "c.safetensors", reader).warning, "");
  EXPECT_EQ(reader.executor().choices(), "\"a choice\"");

  Unigram without(7);
  EXPECT_HAS(read_checkpoint(d / "c.safetensors", *without.session).warning, "they were made on a GPU");
  write_checkpoint(d / "c.safetensors", *without.session, info_of(3));
  EXPECT_EQ(read_checkpoint(d / "c.safetensors", *without.session).warning, "");
}

TEST(Checkpoint, AWarningGoesToTheLog) {
  const TemporaryDirectory d;
  const auto plan = std::make_shared<const Plan>(unigram_plan(kVocabulary));
  auto executor = std::make_unique<ChoosingExecutor>(*plan);
  executor->made = "some";
  const Session writer(plan, std::move(executor));
  CheckpointDirectory(d.path(), 0).save(writer, info_of(0));
  std::string log;
  EXPECT_EQ(restored(d, &log), 0);
  EXPECT_HAS(log, "results may differ in their last bits");
}

TEST(Checkpoint, DamagedChoicesAreDamage) {
  const TemporaryDirectory d;
  const auto plan = std::make_shared<const Plan>(unigram_plan(7));
  auto executor = std::make_unique<ChoosingExecutor>(*plan);
  executor->made = "a choice";
  Session session(plan, std::move(executor));
  write_checkpoint(d / "c.safetensors", session, info_of(3));
  std::string bytes = read_text_file(d / "c.safetensors");
  bytes[bytes.find("a choice")] = 'b';
  write_file(d / "c.safetensors", bytes);
  EXPECT_HAS(message_of([&] { read_checkpoint(d / "c.safetensors", session); }), "checksum does not match");
}

TEST(Checkpoint, AModelFileIsNoCheckpoint) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary);
  model.session->save_weights(d / "model.safetensors");
  EXPECT_HAS(message_of([&] { read_checkpoint(d / "model.safetensors", *model.session); }), "no checkpoint");
}

TEST(Checkpoint, HoldsWeightsForOthersThanItsPlan) {
  const TemporaryDirectory d;
  Unigram model(kVocabulary), other(kVocabulary);
  fill(*model.session, 3);
  write_checkpoint(d / "c.safetensors", *model.session, info_of(1));
  const Checkpoint weights = open_weights(d / "c.safetensors");
  EXPECT_EQ(weights.names(), std::vector<std::string>{"head.bias"});
  EXPECT_TRUE(other.session->load_weights(d / "c.safetensors").empty());
  EXPECT_EQ(other.session->state_f32("parameters")[kVocabulary - 1], 3);
  EXPECT_EQ(other.session->state_f32("momentum")[0], 0);

  std::string bytes = read_text_file(d / "c.safetensors");
  bytes.back() ^= 1;
  write_file(d / "c.safetensors", bytes);
  EXPECT_HAS(message_of([&] { open_weights(d / "c.safetensors"); }), "checksum does not match");
}

/// A unigram model with a state that the weights which it starts from have.
struct BasedUnigram {
  BasedUnigram() {
    Plan made = unigram_plan(kVocabulary);
    made.states.push_back({.name = "base", .role = Role::parameter, .shape = {3}, .init = {}});
    made.states.back().from_model = true;
    plan = std::make_shared<const Plan>(std::move(made));
    session = std::make_unique<Session>(plan, std::make_unique<UnigramExecutor>(*plan));
  }
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Session> session;
};

/// What the model's own weights have is not in a checkpoint, and stays as it is when one is read.
TEST(Checkpoint, LeavesOutWhatComesFromTheModel) {
  const TemporaryDirectory d;
  BasedUnigram a, b;
  fill(*a.session, 3);
  fill(*b.session, 9);
  for (Session* session : {a.session.get(), b.session.get()}) session->state_f32("base")[2] = 5;
  write_checkpoint(d / "c.safetensors", *a.session, info_of(1));
  EXPECT_EQ(Checkpoint::open(d / "c.safetensors").find("base"), nullptr);
  b.session->state_f32("base")[2] = 7;
  read_checkpoint(d / "c.safetensors", *b.session);
  EXPECT_TRUE(is_filled(*b.session, 3));
  EXPECT_EQ(b.session->state_f32("base")[2], 7);
  EXPECT_EQ(open_weights(d / "c.safetensors").names(), std::vector<std::string>{"head.bias"});
}

/// Two states of parameters, each with its own segments.
TEST(Checkpoint, ListsTheSegmentsOfEachState) {
  const std::string layout =
      R"([{"name": "a", "state": "parameters", "offset": 0, "shape": [2], "transposed": false},
          {"name": "w", "state": "parameters.frozen", "offset": 0, "shape": [3], "transposed": false}])";
  EXPECT_EQ(parameter_segments(layout, "c", "parameters").at(0).name, "a");
  EXPECT_EQ(parameter_segments(layout, "c", "parameters.frozen").at(0).name, "w");
  EXPECT_EQ(parameter_segments(layout, "c", "parameters").size(), 1u);
}

/// A weight that its file holds the other way round, behind another one in the same state.
TEST(Checkpoint, ParametersComeInTheLayoutOfWeights) {
  Plan plan;
  plan.states.push_back(
      {.name = "p", .role = Role::parameter, .dtype = DType::f32, .shape = {8}, .init = {}});
  const auto segment = [](const char* name, std::vector<int64_t> shape, int64_t offset, bool transposed) {
    return Segment{.name = name,
                   .shape = std::move(shape),
                   .offset = offset,
                   .init = {},
                   .decay = true,
                   .checkpoint_names = {},
                   .transposed = transposed};
  };
  plan.states[0].segments = {segment("a", {2}, 0, false), segment("w", {2, 3}, 2, true)};
  const float values[] = {9, 8, 1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(values));
  const auto state = [&](size_t elements) {
    return Checkpoint::of({{"p",
                            DType::f32,
                            {static_cast<int64_t>(elements)},
                            {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(4 * elements)}}},
                          "c");
  };
  const Checkpoint weights = parameters_in(state(8), parameter_layout(plan));
  EXPECT_EQ(weights.at("w").shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(read_floats(weights.at("w")), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(read_floats(weights.at("a")), (std::vector<float>{9, 8}));
  EXPECT_HAS(message_of([&] { parameters_in(state(7), parameter_layout(plan)); }), "'w' lies outside");
  const auto refused = [&](const char* layout) {
    return message_of([&] { parameters_in(state(8), layout); });
  };
  EXPECT_HAS(refused(R"([{"name": 1}])"), "metadata parameters': [0].name is 1: expected a string");
  EXPECT_HAS(refused(R"([{"name": "w"}, 3])"), "[0].state is missing: expected a string");
  EXPECT_HAS(refused("[3]"), "[0] is an integer: expected an object");
  EXPECT_HAS(refused("{}"), "is an object: expected a list of objects");
  EXPECT_HAS(refused("[{]"), "broken JSON at byte 3 (line 1, column 3): found ']'");
}

/// Two weights of one shape that changed places would be taken for each other.
TEST(Checkpoint, AnotherLayoutIsAnotherPlan) {
  const TemporaryDirectory d;
  const auto plan = [](const char* first, const char* second) {
    auto plan = std::make_shared<Plan>(unigram_plan(8));
    Segment whole = plan->states[0].segments[0];
    whole.shape = {4};
    plan->states[0].segments = {whole, whole};
    plan->states[0].segments[1].offset = 4;
    plan->states[0].segments[0].checkpoint_names = {first};
    plan->states[0].segments[1].checkpoint_names = {second};
    return plan;
  };
  const auto written = plan("k", "q"), swapped = plan("q", "k");
  Session a(written, std::make_unique<UnigramExecutor>(*written));
  Session b(swapped, std::make_unique<UnigramExecutor>(*swapped));
  write_checkpoint(d / "c.safetensors", a, info_of(1));
  EXPECT_EQ(read_checkpoint(d / "c.safetensors", a).step, 1);
  EXPECT_HAS(message_of([&] { read_checkpoint(d / "c.safetensors", b); }), "belongs to another plan");
}

TEST(Checkpoint, EmptyDirectoryRestoresNothing) {
  const TemporaryDirectory d;
  EXPECT_EQ(restored(d), -1);
}

}  // namespace
}  // namespace smelt
