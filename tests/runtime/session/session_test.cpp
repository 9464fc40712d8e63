#include "runtime/session/session.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/engine/weights/safetensors.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"

namespace smelt {
namespace {

constexpr int64_t kSessionVocabulary = 11;

/// ids and labels of one shape.
std::vector<InputTensor> batch(const std::vector<int32_t>& tokens, std::vector<int64_t> shape) {
  return {{"input_ids", DType::i32, shape, tokens.data()}, {"labels", DType::i32, shape, tokens.data()}};
}

TEST(Session, GivesOutputsTheirShapeAtLaunch) {
  Unigram model(kSessionVocabulary);
  model.session->segment("parameters", "logits")[3] = 2.5f;
  const std::vector<int32_t> tokens(6);
  const InputTensor ids{"input_ids", DType::i32, {2, 3}, tokens.data()};
  const auto outputs = model.session->run("logits", std::span(&ids, 1));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{2, 3, kSessionVocabulary}));
  EXPECT_EQ(outputs[0].as<float>()[5 * kSessionVocabulary + 3], 2.5f);
}

/// That an input whose length is declared as `dim` binds T = 2 by `fits`, and that `other` is refused.
void expect_length(const Dim& dim, int64_t fits, int64_t other, const char* refusal) {
  Plan plan = unigram_plan(kSessionVocabulary);
  PlanEntry& logits = *std::ranges::find(plan.entries, "logits", &PlanEntry::name);
  logits.inputs[0].shape[1] = dim;
  const auto shared = std::make_shared<const Plan>(std::move(plan));
  Session session(shared, std::make_unique<UnigramExecutor>(*shared), 0);
  const std::vector<int32_t> tokens(2 * std::max(fits, other));
  const InputTensor good{"input_ids", DType::i32, {2, fits}, tokens.data()},
      bad{"input_ids", DType::i32, {2, other}, tokens.data()};
  EXPECT_EQ(session.run("logits", std::span(&good, 1))[0].shape,
            (std::vector<int64_t>{2, 2, kSessionVocabulary}));
  EXPECT_HAS(message_of([&] { session.run("logits", std::span(&bad, 1)); }), refusal);
}

/// Of a sequence of which ranks have parts.
TEST(Session, BindsSymbolsByTheirMultiples) {
  expect_length(Dim::symbol("T") * 3, 6, 5,
                "expected i32[B,3*T], given i32[2,5]: dimension 1 should be a multiple of 3");
}

TEST(Session, BindsSymbolsByMultiplesAndARemainder) {
  expect_length(Dim::symbol("T") * 3 - 2, 4, 6,
                "expected i32[B,3*T - 2], given i32[2,6]: dimension 1 should be a multiple of 3 less 2");
  expect_length(Dim::symbol("T") * 3 + 1, 7, 6, "dimension 1 should be a multiple of 3 plus 1");
}

TEST(Session, WritesOnlyTheOutputsAskedFor) {
  Unigram model(kSessionVocabulary);
  const std::vector<int32_t> tokens(4, 1);
  float count = 0;
  const OutputBuffer wanted{"token_count", &count, sizeof count};
  const auto shapes = model.session->run("evaluate", batch(tokens, {1, 4}), std::span(&wanted, 1));
  EXPECT_EQ(count, 4);
  EXPECT_EQ(shapes, std::vector<std::vector<int64_t>>{{}});
}

TEST(Session, ErrorsNameEntryInputExpectedAndGiven) {
  Unigram model(kSessionVocabulary);
  const std::vector<int32_t> tokens(64 * 64, 1);
  const auto fault = [&](std::vector<InputTensor> inputs, const char* entry = "evaluate") {
    return message_of([&] { model.session->run(entry, inputs); });
  };
  EXPECT_HAS(fault({}, "nonsense"), "no entry 'nonsense'; there are: 'train_step', ");
  EXPECT_HAS(fault({}), "entry 'evaluate', input 'input_ids': missing; expected i32[B,T]");
  auto inputs = batch(tokens, {2, 3});
  inputs[1].name = "targets";
  EXPECT_HAS(fault(inputs), "input 'targets': no such input; there are: 'input_ids', 'labels'");
  inputs[1].name = "input_ids";
  EXPECT_HAS(fault(inputs), "given twice");
  inputs = batch(tokens, {2, 3});
  inputs[0].dtype = DType::f32;
  EXPECT_HAS(fault(inputs), "expected i32[B,T], given f32[2,3]");
  EXPECT_HAS(fault(batch(tokens, {2, 3, 1})), "given i32[2,3,1]");
  inputs = batch(tokens, {2, 3});
  inputs[1].shape = {2, 4};
  EXPECT_HAS(fault(inputs),
             "input 'labels': expected i32[B,T] with T = 3 as in the inputs before it, given i32[2,4]");
  EXPECT_HAS(fault(batch(tokens, {5, 3})), "B");
  EXPECT_HAS(fault(batch(tokens, {1, 65})), "65");
  EXPECT_HAS(fault(batch(tokens, {0, 3})), "0");
  EXPECT_HAS(fault(batch(tokens, {-1, 3})), "-1");
  inputs = batch(tokens, {2, 3});
  inputs[0].data = nullptr;
  EXPECT_HAS(fault(inputs), "null");
}

TEST(Session, IdsMustBeInTheVocabularyOrIgnored) {
  Unigram model(kSessionVocabulary);
  std::vector<int32_t> tokens = {1, 2, 11};
  EXPECT_HAS(message_of([&] { model.session->run("evaluate", batch(tokens, {1, 3})); }),
             "input 'input_ids': element 2 is 11, expected an id from 0 to 10");
  tokens[2] = -100;
  EXPECT_HAS(message_of([&] { model.session->run("evaluate", batch(tokens, {1, 3})); }),
             "'input_ids': element 2 is -100");
  const std::vector<int32_t> good = {0, 0, 10};
  auto inputs = batch(good, {1, 3});
  inputs[1].data = tokens.data();  // -100 is fine as a label
  EXPECT_NO_THROW(model.session->run("evaluate", inputs));
  tokens[2] = -99;
  EXPECT_HAS(message_of([&] { model.session->run("evaluate", inputs); }), "or -100 to ignore it");
}

TEST(Session, IntegersOf64BitsMustFit32) {
  Plan plan = unigram_plan(kSessionVocabulary);
  Port& port = plan.entries[4].inputs[0];
  port.dtype = DType::i64, port.ids = {};
  const auto shared = std::make_shared<const Plan>(plan);
  Session session(shared, std::make_unique<UnigramExecutor>(*shared), 0);
  const std::vector<int64_t> wide = {1, (int64_t{1} << 32) + 3}, small = {1, -3};
  EXPECT_HAS(message_of([&] { session.run("logits", {{{"input_ids", DType::i64, {1, 2}, wide.data()}}}); }),
             "'input_ids': element 1 is 4294967299, expected a number of 32 bits");
  EXPECT_NO_THROW(session.run("logits", {{{"input_ids", DType::i64, {1, 2}, small.data()}}}));
}

TEST(Session, OutputsMustExistAndFit) {
  Unigram model(kSessionVocabulary);
  const std::vector<int32_t> tokens(3);
  float memory[2];
  const auto fault = [&](std::vector<OutputBuffer> outputs) {
    return message_of([&] { model.session->run("evaluate", batch(tokens, {1, 3}), outputs); });
  };
  EXPECT_HAS(fault({{"loss", memory, 4}}), "no such output; there are: 'loss_sum', 'token_count'");
  EXPECT_HAS(fault({{"loss_sum", memory, 3}}), "need 4 bytes, the memory given holds 3");
  EXPECT_HAS(fault({{"loss_sum", nullptr, 4}}), "null");
  EXPECT_HAS(fault({{"loss_sum", memory, 4}, {"loss_sum", memory + 1, 4}}), "asked for twice");
}

TEST(Session, StatesAreFoundByName) {
  Unigram model(kSessionVocabulary);
  model.session->scalar("step") = 7;
  EXPECT_EQ(model.session->state_f32("step")[0], 7);
  EXPECT_HAS(message_of([&] { model.session->scalar("parameters"); }), "has 11 elements");
  EXPECT_HAS(message_of([&] { model.session->state("moments"); }),
             "no state 'moments'; there are: 'parameters', ");
  EXPECT_HAS(message_of([&] { model.session->segment("parameters", "x"); }), "no segment 'x'");
  EXPECT_HAS(message_of([&] { model.session->write_segment("parameters", "logits", std::vector<float>(3)); }),
             "expected 11 numbers, given 3");
}

TEST(Session, ElementsOfAStateAreWritten) {
  Unigram model(kSessionVocabulary);
  const std::vector<float> values = {4, 5};
  model.session->write_elements("parameters", 3, values);
  const auto found = model.session->state_f32("parameters");
  EXPECT_EQ(found[3], 4);
  EXPECT_EQ(found[4], 5);
  EXPECT_EQ(found[5], 0);
  for (const int64_t begin : {int64_t{10}, int64_t{-1}, int64_t{12}})
    EXPECT_HAS(message_of([&] { model.session->write_elements("parameters", begin, values); }),
               "has 11 elements of f32");
}

/// Two weights, one kept transposed in checkpoints, with a gap between them.
std::shared_ptr<const Plan> weights_plan() {
  auto plan = std::make_shared<Plan>();
  State state{.name = "parameters",
              .role = Role::parameter,
              .dtype = DType::f32,
              .shape = {64},
              .init = {},
              .segments = {}};
  state.segments.push_back({"w", {3, 5}, 0, {}, true, {"t.w", "w"}, true});
  state.segments.push_back({"b", {33}, 16, {}, false, {"t.b"}, false});
  plan->states = {state};
  plan->model = "{}";
  return plan;
}

std::unique_ptr<Session> weights_session(const std::shared_ptr<const Plan>& plan) {
  return std::make_unique<Session>(plan, std::make_unique<UnigramExecutor>(*plan));
}

TEST(SessionWeights, AreTransposedAndSpelledAsInTheCheckpoint) {
  const TemporaryDirectory d;
  const auto plan = weights_plan();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto a = weights_session(plan), b = weights_session(plan);
  for (const char* name : {"w", "b"})
    for (float& x : a->segment("parameters", name)) x = normal(random);
  a->save_weights(d / "model.safetensors");
  const Checkpoint file = Checkpoint::open(d / "model.safetensors");
  const TensorView& w = file.at("t.w");
  EXPECT_EQ(w.shape, (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(read_floats(w)[4 * 3 + 1], a->segment("parameters", "w")[1 * 5 + 4]);
  EXPECT_TRUE(b->load_weights(d.path()).empty());
  for (const char* name : {"w", "b"})
    EXPECT_TRUE(std::ranges::equal(a->segment("parameters", name), b->segment("parameters", name))) << name;
}

TEST(SessionWeights, InitializingWithAFileLeavesWhatInitializingAndLoadingLeave) {
  const TemporaryDirectory d;
  const auto source = weights_session(weights_plan()), at_once = weights_session(weights_plan()),
             one_by_one = weights_session(weights_plan());
  source->initialize(1);
  source->save_weights(d / "model.safetensors");
  for (const auto& session : {at_once.get(), one_by_one.get()})  // what was there before is gone
    std::ranges::fill(session->state_f32("parameters"), 7.0f);
  const Checkpoint file = Checkpoint::open(d / "model.safetensors");
  EXPECT_TRUE(at_once->initialize(3, file).empty());
  one_by_one->initialize(3);
  one_by_one->load_weights(file);
  for (const State& state : at_once->plan().states)
    EXPECT_TRUE(std::ranges::equal(std::as_const(*at_once).state(state.name),
                                   std::as_const(*one_by_one).state(state.name)))
        << state.name;
}

TEST(SessionWeights, SecondSpellingHalfPrecisionAndUnusedTensors) {
  const TemporaryDirectory d;
  const auto session = weights_session(weights_plan());
  const std::vector<uint16_t> w(15, 0x3FC0), mask(4);  // 1.5 in bf16
  const std::vector<double> b(33, -0.25);
  const std::vector<TensorView> tensors = {{"w", DType::bf16, {5, 3}, std::as_bytes(std::span(w))},
                                           {"t.b", DType::f64, {33}, std::as_bytes(std::span(b))},
                                           {"mask", DType::u16, {4}, std::as_bytes(std::span(mask))}};
  write_safetensors(d / "x.safetensors", tensors);
  EXPECT_EQ(session->load_weights(d / "x.safetensors"), std::vector<std::string>{"mask"});
  EXPECT_EQ(session->segment("parameters", "w")[7], 1.5f);
  EXPECT_EQ(session->segment("parameters", "b")[32], -0.25f);
}

TEST(SessionWeights, AllFaultsAreInOneErrorAndNothingChanges) {
  const TemporaryDirectory d;
  auto plan = std::make_shared<Plan>(*weights_plan());
  plan->states[0].segments.push_back({"c", {2}, 50, {}, false, {"t.c"}, false});
  const auto session = weights_session(plan);
  const std::vector<float> w(15, 1), c(2, 1);
  const std::vector<int32_t> b(33, 1);
  const std::vector<TensorView> tensors = {{"t.w", DType::f32, {3, 5}, std::as_bytes(std::span(w))},
                                           {"t.b", DType::i32, {33}, std::as_bytes(std::span(b))}};
  write_safetensors(d / "x.safetensors", tensors);
  const std::string message = message_of([&] { session->load_weights(d / "x.safetensors"); });
  EXPECT_HAS(message, "'t.w' is F32 [3,5], expected floats [5,3]");
  EXPECT_HAS(message, "'t.b' is I32 [33]");
  EXPECT_HAS(message, "'t.c' is missing (expected [2])");
  EXPECT_EQ(session->segment("parameters", "w")[0], 0);
}

/// A model's file and one of some tensors more, of which a later one takes the place of an earlier one.
TEST(SessionWeights, ComeFromSeveralFilesAndMayStay) {
  const auto session = weights_session(weights_plan());
  const auto floats = [](const char* name, std::vector<int64_t> shape, float value) {
    const std::vector<float> values(static_cast<size_t>(count_elements(shape)), value);
    const auto bytes = std::as_bytes(std::span(values));
    return HostTensor{name, DType::f32, std::move(shape), {bytes.begin(), bytes.end()}};
  };
  const auto file = [](std::vector<HostTensor> tensors, const char* path) {
    return std::make_shared<const Checkpoint>(Checkpoint::of(std::move(tensors), path));
  };
  const auto base = file({floats("t.b", {33}, 1), floats("t.w", {5, 3}, 2)}, "base"),
             more = file({floats("t.b", {33}, 3), floats("z", {1}, 0)}, "more");
  const Checkpoint both = Checkpoint::joined({base, more});
  EXPECT_EQ(both.path(), "base + more");
  EXPECT_EQ(both.names(), (std::vector<std::string>{"t.b", "t.w", "z"}));
  EXPECT_EQ(session->load_weights(both), std::vector<std::string>{"z"});
  EXPECT_EQ(session->segment("parameters", "w")[7], 2);
  EXPECT_EQ(session->segment("parameters", "b")[32], 3);

  const auto one = file({floats("t.w", {5, 3}, 5)}, "one");
  EXPECT_HAS(message_of([&] { session->load_weights(*one); }), "'t.b' is missing");
  session->load_weights(*one, [](const Segment& segment) { return segment.name == "b"; });
  EXPECT_EQ(session->segment("parameters", "w")[7], 5);
  EXPECT_EQ(session->segment("parameters", "b")[32], 3);
}

/// One fill of an output, in which no memory is planned.
Plan plan_of_output(int64_t elements) {
  Plan plan;
  plan.target = "cpu";
  Buffer y;
  y.name = "y", y.role = Role::output, y.elements = elements, y.bytes = elements * 4;
  plan.buffers = {y};
  Step fill;
  fill.what = FillStep{{0, 0}, elements, 1.5};
  fill.writes = {0};
  plan.entries = {{"run", {}, {{"y", DType::f32, {Dim(elements)}, 0}}, {fill}, 0}};
  return plan;
}

TEST(Session, OutputsThatDoNotFitMemoryAreRefusedBeforeTheRun) {
  Session small(std::make_shared<const Plan>(plan_of_output(3)));
  EXPECT_EQ(small.run("run", {})[0].as<float>()[2], 1.5f);
  Session large(std::make_shared<const Plan>(plan_of_output(int64_t{1} << 45)));
  try {
    large.run("run", {});
    FAIL() << "run";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::out_of_memory);
    EXPECT_HAS(error.what(), "entry 'run': its outputs need 140737488355328 bytes");
  }
}

}  // namespace
}  // namespace smelt
