#include "runtime/engine/training/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/base/error.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/system/file.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"

namespace smelt {
namespace {

constexpr int64_t kByteVocabulary = 256;

/// Remembers what it is told.
struct Recorder : TrainerObserver {
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<std::string> messages, samples;
  int finishes = 0;
  void stepped(const StepRecord& r) override { steps.push_back(r); }
  void evaluated(const EvaluationRecord& r) override { evaluations.push_back(r); }
  void message(std::string_view text) override { messages.emplace_back(text); }
  void sampled(int64_t, std::string_view text) override { samples.emplace_back(text); }
  void finished(int64_t) override { ++finishes; }
};

TokenSplit text_data(const TemporaryDirectory& d) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "the cat sat on the mat "[(i * i + i / 7) % 23];
  return split<TokenData>(std::make_shared<const TokenData>(std::vector{d.write("text", text)},
                                                            TokenFormat::bytes, kByteVocabulary),
                          nullptr, 0.1);
}

TrainerOptions options_for(const TemporaryDirectory& d) {
  TrainerOptions o;
  o.run_directory = d / "run";
  o.steps = 40, o.batch = 4, o.length = 33;
  o.learning_rate = 2, o.warmup_steps = 5, o.min_learning_rate = 0.1;
  o.eval_every = 10, o.eval_batches = 2, o.checkpoint_every = 10, o.seed = 3;
  return o;
}

/// One run from zero (or from the directory's checkpoint).
struct TrainingRun {
  TrainingRun(const TemporaryDirectory& d, const TrainerOptions& options, int stop_after = -1)
      : model(kByteVocabulary), trainer(*model.session, options, text_data(d)) {
    trainer.add_observer(recorder);
    if (stop_after >= 0)
      trainer.should_stop = [this, stop_after] { return recorder.steps.back().step >= stop_after; };
  }
  Unigram model;
  Recorder recorder;
  Trainer trainer;
};

TEST(Trainer, LearnsAndReports) {
  const TemporaryDirectory d;
  TrainingRun run(d, options_for(d));
  const TrainingResult result = run.trainer.run();
  EXPECT_EQ(result.step, 40);
  EXPECT_FALSE(result.stopped_early);
  const auto& steps = run.recorder.steps;
  ASSERT_EQ(steps.size(), 40u);
  EXPECT_NEAR(steps[0].loss, std::log(256.0), 1e-3);
  EXPECT_LT(steps.back().loss, 3.2);
  EXPECT_DOUBLE_EQ(steps[0].learning_rate, 0.4);
  EXPECT_GT(steps[0].gradient_norm, 0);
  EXPECT_EQ(steps[9].tokens, 10 * 4 * 33);
  EXPECT_GT(steps[0].peak_bytes, 1 << 20);
  ASSERT_EQ(run.recorder.evaluations.size(), 5u);  // before, 10, 20, 30, 40
  EXPECT_EQ(run.recorder.evaluations[4].targets, 2 * 4 * 33);
  EXPECT_LT(*result.held_back_loss, run.recorder.evaluations[0].loss - 2);
  EXPECT_EQ(run.recorder.finishes, 1);
}

TEST(Trainer, LeavesARunDirectory) {
  const TemporaryDirectory d;
  TrainingRun run(d, options_for(d));
  run.trainer.run();
  TrainerOptions read;
  read_json(read_text_file(d / "run/options.json"), read);
  EXPECT_EQ(read.data.substr(0, 21), "3000 tokens, checksum");
  read.data.clear();
  EXPECT_EQ(to_json(read), to_json(options_for(d)));
  const std::string metrics = read_text_file(d / "run/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 40 + 5 + 4);
  EXPECT_HAS(metrics, R"({"event":"step","step":40,"loss":)");
  EXPECT_HAS(read_text_file(d / "run/loss.svg"), "held back");
  EXPECT_EQ(CheckpointDirectory(d / "run/checkpoints", 0).list().size(), 3u);
}

class Resume : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Resume, GivesTheSameBits) {
  const auto [stop_after, accumulation] = GetParam();
  const TemporaryDirectory whole, parts;
  TrainerOptions options = options_for(whole);
  options.gradient_accumulation = accumulation;
  TrainingRun uninterrupted(whole, options);
  uninterrupted.trainer.run();

  options.run_directory = parts / "run";
  TrainingRun first(parts, options, stop_after);
  EXPECT_TRUE(first.trainer.run().stopped_early);
  options.resume = true;
  TrainingRun second(parts, options);
  EXPECT_EQ(second.trainer.run().step, 40);
  EXPECT_TRUE(second.recorder.messages.empty());
  const auto &all = uninterrupted.recorder.steps, &rest = second.recorder.steps;
  ASSERT_EQ(rest.size(), all.size() - static_cast<size_t>(stop_after));
  for (size_t i = 0; i < rest.size(); ++i)
    EXPECT_EQ(rest[i].loss, all[i + static_cast<size_t>(stop_after)].loss);
  for (const char* name : {"parameters", "momentum", "step"})
    EXPECT_TRUE(
        std::ranges::equal(uninterrupted.model.session->state(name), second.model.session->state(name)));
  const LossHistory history = truncate_metrics(parts / "run/metrics.jsonl", 1000);
  ASSERT_EQ(history.train.size(), 40u);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(history.train[i].second, all[i].loss);
}

INSTANTIATE_TEST_SUITE_P(Trainer, Resume,
                         testing::Combine(testing::Values(1, 17, 39), testing::Values(1, 3)));

TEST(Trainer, ResumesFromTheCheckpointBeforeADamagedOne) {
  const TemporaryDirectory whole, parts;
  TrainingRun uninterrupted(whole, options_for(whole));
  uninterrupted.trainer.run();
  TrainerOptions options = options_for(parts);
  TrainingRun first(parts, options, 25);
  const auto newest = first.trainer.run().checkpoint;
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  options.resume = true;
  TrainingRun second(parts, options);
  second.trainer.run();
  ASSERT_EQ(second.recorder.messages.size(), 1u);
  EXPECT_HAS(second.recorder.messages[0], newest.filename().string());
  EXPECT_EQ(second.recorder.steps.size(), 20u);  // from 20
  EXPECT_EQ(truncate_metrics(parts / "run/metrics.jsonl", 1000).train.size(), 40u);
  EXPECT_TRUE(std::ranges::equal(uninterrupted.model.session->state("parameters"),
                                 second.model.session->state("parameters")));
}

TEST(Trainer, ResumeWithoutACheckpointStartsAndWithOtherOptionsSaysSo) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.resume = true;
  TrainingRun first(d, options, 12);
  EXPECT_EQ(first.trainer.run().step, 12);
  options.batch = 2, options.learning_rate = 1;
  TrainingRun second(d, options);
  second.trainer.run();
  ASSERT_EQ(second.recorder.messages.size(), 1u);
  EXPECT_HAS(second.recorder.messages[0], "resumed at step 12 with other values of: batch, learning_rate");
}

/// The same data of another name are no change.
TEST(Trainer, ResumeNamesOtherData) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.resume = true;
  TrainingRun(d, options, 12).trainer.run();
  const auto resumed = [&](std::string text, int stop_after) {
    Unigram model(kByteVocabulary);
    Recorder recorder;
    Trainer trainer(*model.session, options,
                    split<TokenData>(std::make_shared<const TokenData>(std::vector{d.write("other", text)},
                                                                       TokenFormat::bytes, kByteVocabulary),
                                     nullptr, 0.1));
    trainer.add_observer(recorder);
    trainer.should_stop = [&] { return recorder.steps.back().step >= stop_after; };
    trainer.run();
    return recorder.messages;
  };
  std::string text = read_text_file(d / "text");
  EXPECT_TRUE(resumed(text, 14).empty());
  text[1000] ^= 1;
  const auto messages = resumed(text, 16);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_HAS(messages[0], "resumed at step 14 with other data: 3000 tokens, checksum ");
  EXPECT_TRUE(resumed(text, 18).empty());
}

TEST(Trainer, ARunThatIsRefusedWritesNothing) {
  const TemporaryDirectory d;
  TrainingRun(d, options_for(d), 12).trainer.run();
  const auto contents = [&] {
    std::string all;
    for (const char* file : {"run/options.json", "run/metrics.jsonl", "run/loss.svg"})
      all += read_text_file(d / file);
    return all;
  };
  const std::string before = contents();
  TrainerOptions options = options_for(d);
  options.resume = true, options.steps = 60;
  auto plan = std::make_shared<Plan>(unigram_plan(kByteVocabulary));
  plan->states.push_back(plan->states[1]);
  plan->states.back().name = "second moment";  // the checkpoint has none
  Session session(plan, std::make_unique<UnigramExecutor>(*plan));
  Trainer trainer(session, options, text_data(d));
  EXPECT_HAS(message_of([&] { trainer.restore(); }), "belongs to another plan");
  EXPECT_HAS(message_of([&] { trainer.run(); }), "belongs to another plan");
  EXPECT_EQ(contents(), before);
  TrainingRun again(d, options);
  EXPECT_EQ(again.trainer.restore(), 12);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(again.trainer.run().step, 60);
  EXPECT_EQ(again.recorder.steps.size(), 48u);
}

TEST(Trainer, DoesNotMixTwoRunsInOneDirectory) {
  const TemporaryDirectory d;
  TrainingRun(d, options_for(d)).trainer.run();
  EXPECT_HAS(message_of([&] { TrainingRun(d, options_for(d)); }), "--resume");
}

TEST(Trainer, StopsAtNaNNamingTheStepAndKeepsTheCheckpoint) {
  const TemporaryDirectory d;
  TrainingRun run(d, options_for(d));
  run.model.executor->nan_at_step = 13;
  run.trainer.explain_anomaly = [](std::span<const InputTensor> inputs) {
    return fmt::format("first seen in '{}'", inputs[0].name);
  };
  std::string message;
  Status status = Status::ok;
  try {
    run.trainer.run();
  } catch (const Error& error) {
    message = error.what(), status = error.status();
  }
  EXPECT_EQ(status, Status::numeric);
  EXPECT_HAS(message, "stopped at step 14: the loss is nan");
  EXPECT_HAS(message, "step-0000000010.safetensors");
  EXPECT_HAS(message, "first seen in 'input_ids'");
  EXPECT_EQ(run.recorder.finishes, 1);
  TrainerOptions options = options_for(d);
  options.resume = true;
  TrainingRun again(d, options);
  EXPECT_EQ(again.trainer.run().step, 40);
  EXPECT_EQ(again.recorder.steps[0].step, 11);
}

TEST(Trainer, NamesTheStepOfAnAnomalyThatASessionFinds) {
  for (const int64_t micro_steps : {1, 3}) {
    const TemporaryDirectory d;
    TrainerOptions options = options_for(d);
    options.gradient_accumulation = micro_steps;
    TrainingRun run(d, options);
    run.model.executor->anomaly_at_step = 13;
    const std::string message = message_of([&] { run.trainer.run(); });
    EXPECT_HAS(message, "training stopped at step 14: a value is not finite; the last good state is");
    EXPECT_HAS(message, "step-0000000010.safetensors");
    EXPECT_EQ(run.recorder.steps.back().step, 13);
  }
}

TEST(Trainer, ReportsTheShareOfThePeak) {
  StepRecord record;
  EXPECT_TRUE(std::isnan(record.mfu())) << "no peak is known";
  record.gflops_per_second = 30, record.peak_gflops_per_second = 120;
  EXPECT_EQ(record.mfu(), 0.25);
  const TemporaryDirectory d;
  TrainingRun run(d, options_for(d));
  run.trainer.peak_flops = 2e9;
  run.trainer.run();
  EXPECT_EQ(run.recorder.steps[3].peak_gflops_per_second, 2);
  EXPECT_EQ(run.recorder.steps[3].mfu(), 0) << "counting tokens multiplies no matrices";
}

TEST(MatrixFlops, CountTheGemmsAtTheSizes) {
  const Plan plan = example::plan();
  EXPECT_EQ(matrix_flops(plan.entries[0], {{"B", 2}, {"T", 3}}), 2 * 6 * 3 * 4 + 2 * 4);
  PlanEntry entry = plan.entries[0];
  std::get<GemmStep>(entry.steps[5].what).batch = {{Dim::symbol("B"), 0, 0, 0, false}};
  EXPECT_EQ(matrix_flops(entry, {{"B", 5}, {"T", 3}}), 5 * 2 * 15 * 3 * 4 + 2 * 4);
  entry.steps[5].recomputed = true;
  EXPECT_EQ(matrix_flops(entry, {{"B", 5}, {"T", 3}}), 2 * 4)
      << "what is computed again is no work of the model";
}

TEST(Trainer, StopsAtAnInfiniteGradient) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.gradient_accumulation = 2;
  TrainingRun run(d, options);
  run.model.executor->infinite_norm_at_step = 4;
  const std::string message = message_of([&] { run.trainer.run(); });
  EXPECT_HAS(message, "stopped at step 5: the gradient norm is inf; there is no checkpoint yet");
  EXPECT_TRUE(std::filesystem::exists(d / "run/loss.svg"));
}

TEST(Trainer, OverfitsOneBatch) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.overfit_one_batch = true, options.schedule = ScheduleKind::constant, options.learning_rate = 0.1;
  options.steps = 200;
  TrainingRun run(d, options);
  run.trainer.run();
  for (size_t i = 1; i < run.recorder.steps.size();
       ++i)  // the same tokens: the loss falls with hardly a wobble
    EXPECT_LT(run.recorder.steps[i].loss, run.recorder.steps[i - 1].loss + 0.02);
}

TEST(Trainer, SamplesOnTimeAndRunsWithoutADirectory) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.run_directory.clear();
  options.sample_every = 15;
  TrainingRun run(d, options);
  run.trainer.sampler = [](int64_t step) { return fmt::format("sample {}", step); };
  EXPECT_TRUE(run.trainer.run().checkpoint.empty());
  EXPECT_EQ(run.recorder.samples, (std::vector<std::string>{"sample 15", "sample 30", "sample 40"}));
  EXPECT_FALSE(std::filesystem::exists(d / "run"));
}

TEST(Trainer, ChecksPlanAndDataBeforeItStarts) {
  const TemporaryDirectory d;
  const auto fault = [&](auto change) {
    TrainerOptions options = options_for(d);
    change(options);
    return message_of([&] { TrainingRun(d, options); });
  };
  EXPECT_HAS(fault([](auto& o) { o.batch = 5; }),
             "--batch 5 does not fit the plan: entry 'train_step': B = 5");
  EXPECT_HAS(fault([](auto& o) { o.length = 65; }), "65");
  EXPECT_HAS(fault([](auto& o) { o.batch = 0, o.steps = 0; }),
             "steps is 0, expected 1 to 2147483648; batch is 0");
  EXPECT_HAS(fault([](auto& o) { o.run_directory.clear(), o.resume = true; }),
             "resume needs a run directory");

  auto plan = std::make_shared<Plan>(unigram_plan(kByteVocabulary));
  plan->entries.erase(plan->entries.begin());
  Session session(plan, std::make_unique<UnigramExecutor>(*plan));
  EXPECT_HAS(message_of([&] { Trainer(session, options_for(d), text_data(d)); }), "no entry 'train_step'");
}

/// The text has 2700 tokens to train on, and an update reads 4 * 33 = 132.
TEST(Trainer, EpochsDetermineTheSteps) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.epochs = 2, options.warmup_steps = share_of_steps(0.1);
  TrainingRun run(d, options);
  EXPECT_EQ(run.trainer.run().step, 41);  // 2 * 2700 / 132 = 40.9
  EXPECT_DOUBLE_EQ(run.recorder.steps[0].learning_rate, 2.0 / 5) << "the warm-up is 4.1 steps, rounded up";
  TrainerOptions written;
  read_json(read_text_file(d / "run/options.json"), written);
  EXPECT_EQ(written.steps, 41);
  options.resume = true, options.epochs = 3;
  TrainingRun longer(d, options);
  EXPECT_EQ(longer.trainer.run().step, 62);
  ASSERT_EQ(longer.recorder.messages.size(), 1u);
  EXPECT_HAS(longer.recorder.messages[0], "resumed at step 41 with other values of: steps, epochs");
}

/// At a constant rate that is high, the loss soon goes up and down.
TEST(Trainer, StopsWithoutImprovementAndKeepsTheBest) {
  const TemporaryDirectory whole, parts;
  TrainerOptions options = options_for(whole);
  options.schedule = ScheduleKind::constant, options.steps = 200, options.learning_rate = 4;
  options.eval_every = 2, options.early_stopping = 3, options.keep_checkpoints = 1;
  TrainingRun run(whole, options);
  const TrainingResult result = run.trainer.run();
  EXPECT_TRUE(result.without_improvement);
  EXPECT_FALSE(result.stopped_early);
  ASSERT_LT(result.step, 200);
  const auto& evaluations = run.recorder.evaluations;
  const auto best = std::ranges::min_element(evaluations, {}, &EvaluationRecord::loss);
  EXPECT_EQ(result.step, best->step + 3 * 2);
  EXPECT_EQ(result.best, checkpoint_path(whole / "run/best", best->step));
  EXPECT_EQ(list_checkpoints(whole / "run/best"), std::vector{result.best});
  EXPECT_EQ(checkpoint_step(list_checkpoints(whole / "run/checkpoints").back()), result.step);
  EXPECT_HAS(run.recorder.messages.back(),
             fmt::format("step {}: no better loss in 3 evaluations", result.step));

  options.run_directory = parts / "run";
  TrainingRun(parts, options, static_cast<int>(best->step) + 3).trainer.run();
  options.resume = true;
  TrainingRun rest(parts, options);
  EXPECT_EQ(rest.trainer.run().step, result.step) << "the count goes on after --resume";
  EXPECT_EQ(rest.trainer.run().step, result.step) << "nothing is left to do";
  EXPECT_EQ(list_checkpoints(parts / "run/best"),
            std::vector{checkpoint_path(parts / "run/best", best->step)});
}

TEST(Trainer, StopsAtASpike) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.on_spike = SpikeAction::stop, options.spike_factor = 20;
  TrainingRun run(d, options);
  run.model.executor->large_norm_at_step = 32;
  const std::string message = message_of([&] { run.trainer.run(); });
  EXPECT_HAS(message, "training stopped at step 33: the gradient norm");
  EXPECT_HAS(message, "its running mean");
  EXPECT_HAS(message, "step-0000000030.safetensors");
}

/// The resumed run has the means of the first one.
TEST(Trainer, SkipsASpikeAndLeavesTheStatesAsTheyWere) {
  const TemporaryDirectory whole, parts;
  TrainerOptions options = options_for(whole);
  options.on_spike = SpikeAction::skip, options.spike_factor = 20;
  const auto spike_at_32 = [](TrainingRun& run) { run.model.executor->large_norm_at_step = 32; };
  TrainingRun run(whole, options);
  spike_at_32(run);
  std::vector<std::byte> before, after;
  run.trainer.should_stop = [&] {
    const auto values = run.model.session->state("momentum");
    auto& copy = run.recorder.steps.back().step == 32 ? before : after;
    if (run.recorder.steps.back().step <= 33) copy.assign(values.begin(), values.end());
    return false;
  };
  EXPECT_EQ(run.trainer.run().step, 40);
  EXPECT_EQ(before, after);
  ASSERT_EQ(run.recorder.messages.size(), 1u);
  EXPECT_HAS(run.recorder.messages[0], "step 33 is skipped: the gradient norm is ");

  options.run_directory = parts / "run";
  TrainingRun(parts, options, 30).trainer.run();
  options.resume = true;
  TrainingRun rest(parts, options);
  rest.model.executor->large_norm_at_step = 32;
  rest.trainer.run();
  EXPECT_EQ(rest.recorder.messages, run.recorder.messages);
  EXPECT_TRUE(
      std::ranges::equal(run.model.session->state("parameters"), rest.model.session->state("parameters")));
}

TEST(Trainer, StopsWhereEveryUpdateIsSkipped) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.on_spike = SpikeAction::skip, options.spike_factor = 20, options.steps = 200;
  TrainingRun run(d, options);
  run.model.executor->large_norm_at_step = 32, run.model.executor->large_norms = 20;
  EXPECT_HAS(message_of([&] { run.trainer.run(); }), "20 successive updates were skipped");
}

/// A model of frequencies finds the most frequent token at every position.
TEST(Trainer, CountsTokensAndTakesFurtherMetrics) {
  const TemporaryDirectory d;
  TrainingRun run(d, options_for(d));
  run.trainer.token_targets = TokenTargets::next;
  run.trainer.more_metrics = [] { return Metrics{{"bleu", 12.5}}; };
  const TrainingResult result = run.trainer.run();
  EXPECT_EQ(find_metric(result.metrics, "bleu"), 12.5);
  EXPECT_NEAR(find_metric(run.recorder.evaluations[0].metrics, "token_accuracy").value(), 0, 0);
  const std::string text = read_text_file(d / "text");
  const auto spaces = static_cast<double>(std::ranges::count(text, ' ')) / static_cast<double>(text.size());
  EXPECT_NEAR(find_metric(result.metrics, "token_accuracy").value(), spaces, 0.1);
  EXPECT_HAS(read_text_file(d / "run/metrics.jsonl"), "\"token_accuracy\":");
}

TEST(Trainer, RefusesAMetricThatItDoesNotEvaluate) {
  const TemporaryDirectory d;
  TrainerOptions options = options_for(d);
  options.metric = "accuracy";
  EXPECT_HAS(message_of([&] { TrainingRun(d, options).trainer.run(); }), "it has loss, perplexity");
  options.eval_every = 0;
  EXPECT_HAS(message_of([&] { TrainingRun(d, options); }), "expected eval_every above 0");
}

TEST(TrainerOptions, ReadsAndRefusesJson) {
  TrainerOptions options;
  read_json(R"({"steps": 7, "schedule": "inverse-sqrt", "learning_rate": 0.5, "overfit_one_batch": true})",
            options);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.schedule, ScheduleKind::inverse_sqrt);
  EXPECT_EQ(options.learning_rate, 0.5);
  EXPECT_TRUE(options.overfit_one_batch);
  EXPECT_EQ(options.batch, 8);
  const std::string message = message_of(
      [&] { read_json(R"({"step": 1, "batch": 1.5, "schedule": "square", "resume": 1})", options); });
  for (const char* part :
       {"'step' is no option", "'batch' is 1.5, expected a whole number",
        "'schedule' is \"square\", expected one of constant, linear", "'resume' is 1, expected true"})
    EXPECT_HAS(message, part);
  read_json(R"({"pack": true, "document_end": [10, 0]})", options);
  EXPECT_TRUE(options.pack);
  EXPECT_EQ(options.document_end, (std::vector<int32_t>{10, 0}));
  TrainerOptions again;
  read_json(to_json(options), again);
  EXPECT_EQ(again.document_end, options.document_end);
  EXPECT_HAS(message_of([&] { read_json(R"({"document_end": [1.5]})", options); }),
             "'document_end' is [1.5], expected a list of whole numbers");
  options.pack = false;
  EXPECT_HAS(message_of([&] { options.validate(); }), "document_end is of packed rows");
  EXPECT_HAS(message_of([&] { read_json("[1]", options); }), "one JSON object");
  EXPECT_HAS(message_of([&] { read_json("[1", options); }), "broken JSON at byte 3");
}

}  // namespace
}  // namespace smelt
