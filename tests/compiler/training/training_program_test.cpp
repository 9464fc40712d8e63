// What one training step of a recorded model launches and keeps, read off the compiled program: the
// parameters are updated by one kernel, a norm is one kernel, and neither dropout nor a softmax is stored.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/driver/summary.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

class TrainingProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    description_ = new Description(read_description(std::string(SMELT_SOURCE_DIR) + "/tests/goldens/gpt2"));
    CompileOptions options;
    options.entries = {"train_step"};
    options.training.optimizer.weight_decay = 0.1;
    program_ = new Program(compile(*description_, options, Stage::program).program);
  }
  static void TearDownTestSuite() {
    delete program_;
    delete description_;
  }

  static const Program& program() { return *program_; }
  static const std::vector<Step>& steps() { return program_->entries.at(0).steps; }
  static const TransformerSpec& spec() { return description_->spec; }

  static const State& flat() {
    return *llvm::find_if(program_->states, [](const State& s) { return s.name == "parameters"; });
  }
  static int64_t flat_elements() { return *flat().shape[0].constant(); }

  static int state_buffer(std::string_view name) {
    const auto is = [&](const Buffer& b) { return b.state >= 0 && program_->states[b.state].name == name; };
    return static_cast<int>(llvm::find_if(program_->buffers, is) - program_->buffers.begin());
  }

  static std::vector<const Step*> writers(int buffer) {
    std::vector<const Step*> found;
    for (const Step& step : steps())
      if (llvm::is_contained(step.writes, buffer)) found.push_back(&step);
    return found;
  }

  /// Buffers outside the states with so many elements for B x T tokens.
  static std::vector<int> buffers_of(const Dim& elements) {
    std::vector<int> found;
    for (size_t i = 0; i < program_->buffers.size(); ++i)
      if (program_->buffers[i].elements == elements && program_->buffers[i].state < 0)
        found.push_back(static_cast<int>(i));
    return found;
  }

  static int first_backward_step() {
    return static_cast<int>(llvm::find_if(steps(), [](const Step& s) { return s.phase == "backward"; }) -
                            steps().begin());
  }

 private:
  static inline Description* description_ = nullptr;
  static inline Program* program_ = nullptr;
};

bool is_kernel(const Step& step) { return std::holds_alternative<KernelStep>(step.what); }

TEST_F(TrainingProgram, AllParametersAreUpdatedByOneLaunch) {
  std::vector<const Step*> sweeps;
  for (const Step& step : steps())
    if (step.phase == "update" && step_bytes(program(), step) >= flat_elements() * 4) sweeps.push_back(&step);
  ASSERT_EQ(sweeps.size(), 1u);
  ASSERT_TRUE(is_kernel(*sweeps[0]));
  for (const char* state : {"parameters", "adam.m", "adam.v"}) {
    EXPECT_TRUE(llvm::is_contained(sweeps[0]->reads, state_buffer(state))) << state;
    EXPECT_EQ(writers(state_buffer(state)), sweeps) << state;
  }
  EXPECT_TRUE(llvm::is_contained(sweeps[0]->reads, state_buffer("gradients")));
  // Four states read, three written, and the scalars: nothing is read twice.
  EXPECT_LT(step_bytes(program(), *sweeps[0]), (7 * flat_elements() + 256) * 4);
}

TEST_F(TrainingProgram, NothingOfTheParametersSizeIsCopied) {
  EXPECT_EQ(buffers_of(flat_elements()), std::vector<int>());
  for (const Step& step : steps()) {
    const auto* copy = std::get_if<CopyStep>(&step.what);
    if (!copy) continue;
    EXPECT_LT(program().buffers[copy->from.buffer].state, 0) << program().buffers[copy->from.buffer].name;
    EXPECT_LT(program().buffers[copy->to.buffer].state, 0) << program().buffers[copy->to.buffer].name;
  }
}

/// Every gradient is computed in its segment of the flat state.
TEST_F(TrainingProgram, GradientsAreComputedInTheirSegments) {
  std::set<int64_t> offsets;
  const int gradients = state_buffer("gradients");
  const auto note = [&](const BufferRef& place) {
    if (place.buffer == gradients && place.offset.constant()) offsets.insert(*place.offset.constant());
  };
  for (const Step* step : writers(gradients)) {
    if (const auto* gemm = std::get_if<GemmStep>(&step->what)) note(gemm->c.base);
    if (const auto* kernel = std::get_if<KernelStep>(&step->what))
      for (const BufferRef& argument : kernel->arguments) note(argument);
  }
  for (const Segment& segment : flat().segments) EXPECT_TRUE(offsets.count(segment.offset)) << segment.name;
}

TEST_F(TrainingProgram, QueryKeyAndValueAreOneGemm) {
  int merged = 0;
  for (const Step& step : steps())
    if (const auto* gemm = std::get_if<GemmStep>(&step.what); gemm && step.phase == "forward")
      merged += gemm->n == Dim(3 * spec().hidden) && gemm->b.base.buffer == state_buffer("parameters");
  EXPECT_EQ(merged, spec().decoder.layers);
}

TEST_F(TrainingProgram, EveryNormIsOneForwardLaunch) {
  std::map<std::string, int> launches;
  for (const Step& step : steps())
    for (const std::string& source : step.sources)
      if (source.find("ln_") != std::string::npos && step.phase == "forward") {
        EXPECT_TRUE(is_kernel(step)) << source;
        ++launches[source];
      }
  EXPECT_EQ(launches.size(), static_cast<size_t>(2 * spec().decoder.layers + 1));
  for (const auto& [norm, count] : launches) EXPECT_EQ(count, 1) << norm;
}

/// Lookup, position and dropout are one launch; the table's gradient is one sum by index over the head's.
TEST_F(TrainingProgram, EmbeddingIsOneLaunchForwardAndOneSumBackward) {
  std::map<std::string, std::vector<const Step*>> by_phase;
  for (const Step& step : steps())
    if (llvm::is_contained(step.sources, "wte")) by_phase[step.phase].push_back(&step);
  ASSERT_EQ(by_phase["forward"].size(), 1u);
  const Step& forward = *by_phase["forward"][0];
  ASSERT_TRUE(is_kernel(forward));
  EXPECT_EQ(std::get<KernelStep>(forward.what).random_ids.size(), 1u);
  for (const char* source : {"wpe", "drop"}) EXPECT_TRUE(llvm::is_contained(forward.sources, source));
  ASSERT_EQ(by_phase["backward"].size(), 2u);
  EXPECT_TRUE(std::holds_alternative<SortIndexStep>(by_phase["backward"][0]->what));
  ASSERT_TRUE(is_kernel(*by_phase["backward"][1]));
  EXPECT_TRUE(llvm::is_contained(by_phase["backward"][1]->writes, state_buffer("gradients")));
}

/// Backward draws again what forward drew, and no flags or bits lie in memory.
TEST_F(TrainingProgram, DropoutIsDrawnTwiceAndNeverStored) {
  std::map<std::string, std::set<uint32_t>> ids;
  for (const Step& step : steps()) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (!kernel || kernel->random_ids.empty()) continue;
    ids[step.phase].insert(kernel->random_ids.begin(), kernel->random_ids.end());
    for (int buffer : step.writes) EXPECT_EQ(program().buffers[buffer].dtype, DType::f32);
  }
  EXPECT_EQ(ids["forward"].size(), static_cast<size_t>(3 * spec().decoder.layers + 1));
  EXPECT_EQ(ids["backward"], ids["forward"]);
  for (const Buffer& buffer : program().buffers) EXPECT_NE(buffer.dtype, DType::boolean) << buffer.name;
}

/// Of the values between two gemms of attention only the scores live on into backward: the probabilities,
/// with dropout or without, are computed again from two statistics per row.
TEST_F(TrainingProgram, AttentionKeepsScoresOnly) {
  const Dim row = round_up(Dim::symbol("T"), 4);
  const Dim scores = row * spec().decoder.heads * Dim::symbol("B") * Dim::symbol("T");
  int live = 0;
  for (int buffer : buffers_of(scores)) {
    const Buffer& b = program().buffers[buffer];
    if (b.first_step >= first_backward_step() || b.last_step < first_backward_step()) continue;
    ++live;
    for (const Step* writer : writers(buffer))
      EXPECT_TRUE(std::holds_alternative<GemmStep>(writer->what)) << b.name;
  }
  EXPECT_EQ(live, spec().decoder.layers);
}

/// As wide as the vocabulary are the logits, which the gemm writes, and their gradient, which takes their
/// place.
TEST_F(TrainingProgram, TheCriterionStoresNoSoftmax) {
  const Dim row = round_up(Dim(spec().vocab_size), 4);
  const std::vector<int> wide = buffers_of(row * Dim::symbol("B") * Dim::symbol("T"));
  ASSERT_EQ(wide.size(), 2u);
  std::map<std::string, int> by_phase;
  for (int buffer : wide) {
    ASSERT_EQ(writers(buffer).size(), 1u);
    by_phase[writers(buffer)[0]->phase] = buffer;
  }
  ASSERT_TRUE(by_phase.count("forward") && by_phase.count("backward"));
  const int logits = by_phase["forward"], gradient = by_phase["backward"];
  EXPECT_TRUE(std::holds_alternative<GemmStep>(writers(logits)[0]->what));
  EXPECT_TRUE(is_kernel(*writers(gradient)[0]));
  EXPECT_EQ(program().buffers[logits].offset_bytes, program().buffers[gradient].offset_bytes);
}

}  // namespace
}  // namespace smelt
