// Trainers at several ranks, which are threads here.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

constexpr int64_t kRankVocabulary = 64, kRankBatch = 2, kRankLength = 17;

TokenSplit token_split(const TemporaryDirectory& d) {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += static_cast<char>((i * i + i / 7) % 23 + (i % 3));
  return split<TokenData>(std::make_shared<const TokenData>(std::vector{d.write("text", text)},
                                                            TokenFormat::bytes, kRankVocabulary),
                          nullptr, 0.1);
}

TrainerOptions options_in(const std::filesystem::path& run, int64_t accumulation = 1) {
  TrainerOptions o;
  o.run_directory = run;
  o.steps = 12, o.batch = kRankBatch, o.length = kRankLength, o.gradient_accumulation = accumulation;
  o.learning_rate = 2, o.warmup_steps = 2, o.seed = 3;
  o.eval_every = 4, o.eval_batches = 5, o.checkpoint_every = 4;
  return o;
}

/// What one rank has seen and has in the end.
struct Seen : TrainerObserver {
  std::vector<double> losses, held_back;
  std::vector<int64_t> tokens;
  std::vector<float> parameters;
  std::vector<std::string> messages;
  TrainingResult result;
  void stepped(const StepRecord& r) override { losses.push_back(r.loss), tokens.push_back(r.tokens); }
  void evaluated(const EvaluationRecord& r) override { held_back.push_back(r.loss); }
  void message(std::string_view text) override { messages.emplace_back(text); }
};

using Prepare = std::function<void(Trainer&, Unigram&, int64_t rank, const Seen&)>;

void train(const TokenSplit& data, const TrainerOptions& options, RankGroups* ranks, Seen& seen,
           const Prepare& prepare) {
  Unigram model(kRankVocabulary, kRankBatch, 64, ranks);
  Trainer trainer(*model.session, options, data);
  trainer.add_observer(seen);
  if (prepare) prepare(trainer, model, ranks ? ranks->rank() : 0, seen);
  seen.result = trainer.run();
  const auto parameters = model.session->state_f32("parameters");
  seen.parameters.assign(parameters.begin(), parameters.end());
}

/// One entry a rank of the mesh; without one: of one rank.
std::vector<Seen> train_over(const std::string& mesh, const TemporaryDirectory& d,
                             const TrainerOptions& options, const Prepare& prepare = {}) {
  const TokenSplit data = token_split(d);
  if (mesh.empty()) {
    std::vector<Seen> one(1);
    train(data, options, nullptr, one[0], prepare);
    return one;
  }
  std::vector<Seen> all(static_cast<size_t>(parse_mesh(mesh).ranks()));
  test::ThreadRanks(parse_mesh(mesh)).run([&](RankGroups& ranks) {
    train(data, options, &ranks, all[static_cast<size_t>(ranks.rank())], prepare);
  });
  return all;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
}

class DataRanks : public testing::TestWithParam<int64_t> {};

TEST_P(DataRanks, TrainAsOneRankWithAsManyMicroSteps) {
  const int64_t count = GetParam();
  const TemporaryDirectory d;
  const Seen one = train_over("", d, options_in(d / "one", 4))[0];
  const auto all = train_over(fmt::format("data={}", count), d, options_in(d / "all", 4 / count));
  for (const Seen& rank : all) {
    expect_near(rank.losses, one.losses);
    expect_near(rank.held_back, one.held_back);
    EXPECT_EQ(rank.tokens, one.tokens);
    EXPECT_EQ(rank.losses, all[0].losses);
    EXPECT_EQ(rank.parameters, all[0].parameters);
    EXPECT_EQ(rank.result.checkpoint, d / "all/checkpoints/step-0000000012.safetensors");
  }
  EXPECT_EQ(list_checkpoints(d / "all/checkpoints").size(), 3u);
  const std::string metrics = read_text_file(d / "all/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 12 + 4 + 3);  // of one rank: steps, evaluations, checkpoints
}

TEST_P(DataRanks, GiveTheSameBitsAgain) {
  const std::string mesh = fmt::format("data={}", GetParam());
  const TemporaryDirectory d;
  EXPECT_EQ(train_over(mesh, d, options_in(d / "a"))[0].parameters,
            train_over(mesh, d, options_in(d / "b"))[0].parameters);
}

TEST_P(DataRanks, ResumeOnAnyNumberOfRanks) {
  const int64_t count = GetParam();
  const TemporaryDirectory d;
  const Seen whole = train_over("", d, options_in(d / "whole", 4))[0];
  const auto stop = [](Trainer& trainer, Unigram&, int64_t rank, const Seen& seen) {
    trainer.should_stop = [rank, &seen] { return rank == 1 && seen.losses.size() == 5; };
  };
  const auto stopped = train_over("data=2", d, options_in(d / "run", 2), stop);
  for (const Seen& rank : stopped) {
    EXPECT_TRUE(rank.result.stopped_early);
    EXPECT_EQ(rank.result.step, 5);
  }
  TrainerOptions options = options_in(d / "run", 4 / count);
  options.resume = true;
  for (const Seen& rank : train_over(fmt::format("data={}", count), d, options)) {
    EXPECT_TRUE(rank.messages.empty()) << rank.messages[0];
    expect_near(rank.losses, {whole.losses.begin() + 5, whole.losses.end()});
  }
}

INSTANTIATE_TEST_SUITE_P(All, DataRanks, testing::Values(1, 2, 4));

/// Ranks along other axes see the same batches, which count once.
TEST(TrainerRanks, OfOtherAxesSeeTheSame) {
  const TemporaryDirectory d;
  const Seen one = train_over("", d, options_in(d / "one", 2))[0];
  for (const Seen& rank : train_over("data=2,model=2", d, options_in(d / "all"))) {
    expect_near(rank.losses, one.losses);
    expect_near(rank.held_back, one.held_back);
    EXPECT_EQ(rank.tokens, one.tokens);
  }
}

/// What each measured by itself may differ, and a run that goes on has the choices of one.
TEST(TrainerRanks, HaveTheFirstOnesChoicesFromACheckpointOn) {
  const TemporaryDirectory d;
  std::vector<std::vector<std::string>> choices(3);
  const auto watch = [&](Trainer& trainer, Unigram& model, int64_t rank, const Seen&) {
    model.executor->made_choices = fmt::format("of rank {}", rank);
    trainer.should_stop = [&choices, rank, executor = model.executor] {
      choices[static_cast<size_t>(rank)].push_back(executor->made_choices);
      return false;
    };
  };
  train_over("data=3", d, options_in(d / "run"), watch);
  for (size_t rank = 0; rank < choices.size(); ++rank) {
    EXPECT_EQ(choices[rank].front(), fmt::format("of rank {}", rank));
    EXPECT_EQ(choices[rank].back(), "of rank 0");
  }
}

TEST(TrainerRanks, SayThatANumberOfThemWasChanged) {
  const TemporaryDirectory d;
  TrainerOptions options = options_in(d / "run");
  const auto stop = [](Trainer& trainer, Unigram&, int64_t, const Seen&) {
    trainer.should_stop = [] { return true; };
  };
  train_over("data=2", d, options, stop);
  options.resume = true;
  const auto messages = train_over("", d, options)[0].messages;
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("gradient_accumulation (times ranks)"), std::string::npos) << messages[0];
}

/// The Error that ends all.
std::string failure_of(const std::string& mesh, const TemporaryDirectory& d, const TrainerOptions& options,
                       const Prepare& prepare) {
  try {
    train_over(mesh, d, options, prepare);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing failed";
}

TEST(TrainerRanks, EndTogetherWhenOneFails) {
  const TemporaryDirectory d;
  const std::string why = failure_of("data=4", d, options_in(d / "run"),
                                     [](Trainer& trainer, Unigram&, int64_t rank, const Seen& seen) {
                                       trainer.should_stop = [rank, &seen] {
                                         if (rank == 3 && seen.losses.size() == 6)
                                           fail("the disk of rank 3 is on fire");
                                         return false;
                                       };
                                     });
  EXPECT_EQ(why, "the disk of rank 3 is on fire");
  TrainerOptions options = options_in(d / "run");
  options.resume = true;
  const auto resumed = train_over("data=4", d, options);
  EXPECT_EQ(resumed[0].losses.size(), 8u);  // from step 4
}

TEST(TrainerRanks, NeedARunDirectoryThatAllSee) {
  const TemporaryDirectory d;
  TrainerOptions options = options_in(d / "run");
  train_over("data=2", d, options);
  options.resume = true, options.steps = 14;
  const TokenSplit data = token_split(d);
  std::string why = "nothing failed";
  try {
    test::ThreadRanks(parse_mesh("data=2")).run([&](RankGroups& ranks) {
      Seen seen;
      TrainerOptions own = options;
      if (ranks.rank() == 1) own.run_directory = d / "elsewhere";
      train(data, own, &ranks, seen, {});
    });
  } catch (const Error& error) {
    why = error.what();
  }
  EXPECT_NE(why.find("rank 1 does not find"), why.npos) << why;
}

/// Another rank's weights at the start would stay other weights.
TEST(TrainerRanks, MustBeginWithTheSameWeights) {
  const TemporaryDirectory d;
  const std::string why =
      failure_of("data=4", d, options_in(d / "run"), [](Trainer&, Unigram& model, int64_t rank, const Seen&) {
        if (rank == 2) model.session->state_f32("parameters")[5] += 1;
      });
  EXPECT_NE(why.find("hold other weights, moments or counters at step 0"), why.npos) << why;
  EXPECT_NE(why.find(" 2 "), why.npos) << why;
  EXPECT_TRUE(list_checkpoints(d / "run/checkpoints").empty());
}

TEST(TrainerRanks, NeedAPlanOfTheirMesh) {
  const TemporaryDirectory d;
  const TokenSplit data = token_split(d);
  test::ThreadRanks(parse_mesh("data=2")).run([&](RankGroups& ranks) {
    Unigram model(kRankVocabulary, kRankBatch, 64, &ranks);
    auto plan = std::make_shared<Plan>(*model.plan);
    plan->mesh = {};
    Session session(plan, std::make_unique<UnigramExecutor>(*plan, &ranks));
    std::string why = "nothing failed";
    try {
      Trainer trainer(session, options_in(""), data);
    } catch (const Error& error) {
      why = error.what();
    }
    EXPECT_NE(why.find("the plan is for one rank, and there are 2"), why.npos) << why;
    EXPECT_NE(why.find("compile it with --mesh data=2"), why.npos) << why;
  });
}

/// However long all of a step takes, no part of it stands still.
TEST(TrainerRanks, TellEveryPartOfAStep) {
  const TemporaryDirectory d;
  const TokenSplit data = token_split(d);
  test::ThreadRanks(parse_mesh("data=2")).run([&](RankGroups& ranks) {
    TrainerOptions options = options_in(d / "run", 3);
    options.steps = 2, options.sample_every = 2, options.checkpoint_every = 0, options.eval_every = 2;
    Seen seen;
    train(data, options, &ranks, seen, {});
    const auto& told = dynamic_cast<test::ThreadRank&>(ranks).reported;
    EXPECT_EQ(std::ranges::count(told, "training"), 2 * 3);
    EXPECT_EQ(std::ranges::count(told, "the update"), 2);
    EXPECT_EQ(std::ranges::count(told, "an evaluation"), 2 * 2)
        << "of four batches two each, before the first step and after the last";
    EXPECT_EQ(std::ranges::count(told, "a sample"), 1);
    EXPECT_EQ(std::ranges::count(told, "a checkpoint"), 1);
  });
}

TEST(TrainerRanks, StopAtALossThatIsNotFinite) {
  const TemporaryDirectory d;
  const std::string why =
      failure_of("data=2", d, options_in(d / "run"),
                 [](Trainer&, Unigram& model, int64_t, const Seen&) { model.executor->nan_at_step = 6; });
  EXPECT_NE(why.find("training stopped at step 7: the loss is nan"), why.npos) << why;
  EXPECT_NE(why.find("step-0000000004"), why.npos) << why;
}

}  // namespace
}  // namespace smelt
