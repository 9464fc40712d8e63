// Pipeline parallel training of whole models, in float64: the stages' update, in any order of work, is that
// of the whole model over as many micro-steps.
#include <gtest/gtest.h>

#include <deque>

#include "frontend/build_transformer.h"
#include "ir/evaluate/evaluate_ranks.h"
#include "ir/graph/verifier.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/pipeline/cut_stages.h"
#include "passes/graph/pipeline/pipeline_entries.h"
#include "passes/graph/pipeline/split_phases.h"
#include "passes/graph/simplify/simplify.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "runtime/engine/training/pipeline_simulation.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

#define SMELT_PIPE_SIZES R"("vocab_size": 11, "hidden": 4, "max_positions": 4, )"
#define SMELT_PIPE_STACK(layers) R"({"layers": )" layers R"(, "heads": 2, "ffn": 4})"
struct PipelineModel {
  const char *name, *spec;
};
constexpr PipelineModel kPipelineModels[] = {
    {"gpt2", R"({"family": "gpt2", )" SMELT_PIPE_SIZES R"("decoder": )" SMELT_PIPE_STACK("4") "}"},
    {"bert", R"({"family": "bert", )" SMELT_PIPE_SIZES
             R"("encoder": )" SMELT_PIPE_STACK("4") R"(, "head": {"kind": "mlm"}})"},
    {"bart",
     R"({"family": "bart", )" SMELT_PIPE_SIZES R"("encoder": )" SMELT_PIPE_STACK(
         "2") R"(, "decoder": )" SMELT_PIPE_STACK("2") R"(, "tokens": {"pad": 1, "decoder_start": 2}})"},
};

TrainingOptions pipeline_training(double loss_scale) {
  TrainingOptions training;
  training.optimizer.clip_norm = 0.5;
  training.optimizer.weight_decay = 0.1;
  training.optimizer.scaling = {.on = loss_scale > 0, .initial = loss_scale > 0 ? loss_scale : 1};
  return training;
}

std::unique_ptr<Module> loss_module(const char* spec) {
  auto module = build_transformer(spec_from_json(spec), {.dropout = 0.25});
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "loss"; });
  decompose(*module->graphs[0], {composites_with_vjp()});
  simplify(*module->graphs[0], {});
  return module;
}

void optimise(Module& module) {
  for (const auto& graph : module.graphs) {
    decompose(*graph, {});
    simplify(*graph, {});
    rematerialize(*graph, {});
    simplify(*graph, {});
  }
}

std::unique_ptr<Module> whole_module(const char* spec, const TrainingOptions& training) {
  auto module = loss_module(spec);
  make_training_entries(*module, training);
  std::erase_if(module->graphs, [](const auto& g) { return g->name != "accumulate" && g->name != "apply"; });
  optimise(*module);
  return module;
}

std::unique_ptr<Module> stage_module(const char* spec, const PipelineShape& shape, int64_t stage,
                                     const TrainingOptions& training) {
  auto module = loss_module(spec);
  module->set_mesh({{{std::string(kStageAxis), shape.stages}}});
  cut_stages(*module, {.stages = shape.stages, .parts_a_stage = shape.parts_a_stage, .stage = stage});
  verify_or_throw(*module);
  make_pipeline_entries(*module, training);
  optimise(*module);
  split_phases(*module);
  verify_or_throw(*module);
  return module;
}

EvaluateOptions options_of(int64_t micro) {
  EvaluateOptions options;
  options.symbols = {{"B", 1}, {"T", 3}, {"S", 3}};
  options.philox = {11, 5, static_cast<uint32_t>(micro)};
  return options;
}

const State& state_named(const Module& module, std::string_view name) {
  return *std::ranges::find(module.states, name, &State::name);
}

/// Learning rate and counters, sums that are empty, moments, and parameters by name.
Tensors first_states(const Module& module, const Tensors& parameters) {
  Tensors states = testing::random_states(module, 4, {});
  for (auto& [name, tensor] : states) {
    if (std::ranges::count(module.parameters, name, &Module::Parameter::name) > 0)
      tensor = parameters.at(name);
    if (name == "learning_rate") tensor.data = {0.01};
    if (name == "step") tensor.data = {3};
    if (name == "gradients" || name == "loss_sum" || name == "token_count" || name.starts_with("adam"))
      std::ranges::fill(tensor.data, 0);
    if (name == "loss_scale") tensor.data = {1024};
    if (name == "good_steps" || name == "skipped_steps") tensor.data = {7};
  }
  return states;
}

void merge(Tensors& into, const Tensors& from) {
  for (const auto& [name, tensor] : from) into[name] = tensor;
}

/// Those of its inputs that the graph has.
Tensors inputs_of(const Graph& graph, const Tensors& all) {
  Tensors inputs;
  for (const Node* input : graph.inputs()) {
    const auto found = all.find(input->get(attr::name));
    if (found != all.end()) inputs[found->first] = found->second;
  }
  return inputs;
}

/// All stages of a pipeline in one thread.
class PipelineRun {
 public:
  PipelineRun(const PipelineSchedule& schedule, const std::vector<std::unique_ptr<Module>>& modules,
              std::vector<Tensors> batches, const Tensors& parameters)
      : schedule_(schedule), modules_(modules), batches_(std::move(batches)) {
    for (const auto& module : modules_) states_.push_back(first_states(*module, parameters));
    next_.resize(modules_.size());
    kept_.resize(modules_.size());
  }

  std::vector<Evaluation> update() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < modules_.size(); ++stage)
        while (next_[stage] < schedule_.stages[stage].size() && advance(stage)) moved = true;
    }
    for (size_t stage = 0; stage < modules_.size(); ++stage)
      EXPECT_EQ(next_[stage], schedule_.stages[stage].size()) << "stage " << stage << " waits for ever";
    add_up_copies();
    std::vector<StageRun> runs;
    static const Tensors kNone;
    for (size_t stage = 0; stage < modules_.size(); ++stage)
      runs.push_back({modules_[stage]->find_graph("apply"), &kNone, &states_[stage]});
    return evaluate_stages(runs, options_of(0));
  }

 private:
  using PartOfBatch = std::pair<int64_t, int64_t>;

  static bool crosses(const std::string& name, const char* what, int64_t part) {
    return name.starts_with(fmt::format("{}.{}.", what, part));
  }

  bool advance(size_t stage) {
    const PipelineStep step = schedule_.stages[stage][next_[stage]];
    const bool values =
        step.action == PipelineAction::send_values || step.action == PipelineAction::receive_values;
    Tensors& kept = kept_[stage][{step.part, step.micro_batch}];
    switch (step.action) {
      case PipelineAction::forward:
        run(stage, step, "forward", kept);
        break;
      case PipelineAction::backward:
        run(stage, step, "backward", kept);
        break;
      case PipelineAction::send_values:
      case PipelineAction::send_gradients: {
        const int64_t boundary = values ? step.part + 1 : step.part;
        Tensors message;
        for (const auto& [name, tensor] : kept)
          if (crosses(name, values ? "values" : "gradients", boundary)) message[name] = tensor;
        mail_[{static_cast<int64_t>(stage), schedule_.shape.stage_of(other_part(step))}].push_back(message);
        break;
      }
      default: {
        auto& mail = mail_[{schedule_.shape.stage_of(other_part(step)), static_cast<int64_t>(stage)}];
        if (mail.empty()) return false;
        merge(kept, mail.front());
        mail.pop_front();
      }
    }
    ++next_[stage];
    return true;
  }

  void run(size_t stage, const PipelineStep& step, const char* entry, Tensors& kept) {
    const Graph* graph = modules_[stage]->find_graph(part_name(entry, step.part));
    Tensors all = batches_[static_cast<size_t>(step.micro_batch)];
    merge(all, kept);
    const Evaluation done =
        evaluate(*graph, inputs_of(*graph, all), states_[stage], options_of(step.micro_batch));
    merge(kept, done.outputs);
    merge(states_[stage], done.states);
  }

  /// Gradients of parameters that several stages hold.
  void add_up_copies() {
    std::map<std::string, Tensor> sums;
    for (const bool adds : {true, false})
      for (size_t stage = 0; stage < modules_.size(); ++stage)
        for (const Segment& segment : modules_[stage]->find_state("gradients")->segments) {
          if (segment.stages.empty()) continue;
          auto& flat = states_[stage]["gradients"].data;
          Tensor& sum = sums[segment.name];
          sum.data.resize(static_cast<size_t>(segment.elements()));
          for (size_t i = 0; i < sum.data.size(); ++i) {
            double& at = flat[static_cast<size_t>(segment.offset) + i];
            adds ? void(sum.data[i] += at) : void(at = sum.data[i]);
          }
        }
  }

  const PipelineSchedule& schedule_;
  const std::vector<std::unique_ptr<Module>>& modules_;
  const std::vector<Tensors> batches_;
  std::vector<Tensors> states_;
  std::vector<size_t> next_;
  std::vector<std::map<PartOfBatch, Tensors>> kept_;
  std::map<std::pair<int64_t, int64_t>, std::deque<Tensors>> mail_;
};

/// The whole model after one update of so many micro-steps.
struct WholeRun {
  WholeRun(const Module& module, const std::vector<Tensors>& batches, const Tensors& parameters) {
    Tensors states = first_states(module, parameters);
    for (size_t i = 0; i < batches.size(); ++i)
      merge(states, evaluate(*module.find_graph("accumulate"), batches[i], states,
                             options_of(static_cast<int64_t>(i)))
                        .states);
    applied = evaluate(*module.find_graph("apply"), {}, states, options_of(0));
  }
  Evaluation applied;
};

void expect_equal_update(const Evaluation& stage, const Module& module, const Evaluation& whole,
                         const Module& whole_module) {
  for (const auto& [name, tensor] : whole.outputs)
    EXPECT_LT(testing::relative_error(stage.outputs.at(name), tensor), 1e-12) << name;
  for (const char* name : {"parameters", "adam.m", "adam.v"}) {
    const Tensors expected = segments_of(state_named(whole_module, name), whole.states.at(name));
    for (const auto& [key, tensor] : segments_of(state_named(module, name), stage.states.at(name)))
      EXPECT_LT(testing::relative_error(tensor, expected.at(key)), 1e-12) << key;
  }
}

/// Every parameter lies on some stage, and what lies on several says so.
void expect_all_parameters(const std::vector<std::unique_ptr<Module>>& stages, const Module& whole) {
  for (const Segment& segment : state_named(whole, "parameters").segments) {
    std::vector<int64_t> holders;
    for (const auto& stage : stages)
      for (const Segment& held : state_named(*stage, "parameters").segments)
        if (held.name == segment.name) holders.push_back(*stage->stage);
    EXPECT_FALSE(holders.empty()) << segment.name;
    if (holders.size() == 1) continue;
    for (const int64_t stage : holders)
      EXPECT_EQ(
          find_segment(state_named(*stages[static_cast<size_t>(stage)], "parameters"), segment.name)->stages,
          holders)
          << segment.name;
  }
}

class PipelineParallel : public ::testing::TestWithParam<PipelineModel> {};

std::vector<Tensors> batches_of(const Graph& graph, int64_t count) {
  std::vector<Tensors> batches;
  for (int64_t i = 0; i < count; ++i)
    batches.push_back(
        testing::random_inputs(graph, 20 + static_cast<uint64_t>(i), options_of(i).symbols, 11));
  return batches;
}

void expect_pipelines(const PipelineModel& model, const PipelineShape& shape,
                      const std::vector<PipelineOrder>& orders, double loss_scale = 0) {
  const TrainingOptions training = pipeline_training(loss_scale);
  const auto whole = whole_module(model.spec, training);
  std::vector<std::unique_ptr<Module>> stages;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    stages.push_back(stage_module(model.spec, shape, stage, training));
  expect_all_parameters(stages, *whole);
  const Tensors parameters = testing::random_states(*whole, 4, {});
  const std::vector<Tensors> batches = batches_of(*whole->find_graph("accumulate"), shape.micro_batches);
  const WholeRun expected(*whole, batches, parameters);
  for (const PipelineOrder order : orders) {
    SCOPED_TRACE(fmt::format("{} p={} v={} m={} {}", model.name, shape.stages, shape.parts_a_stage,
                             shape.micro_batches, name(order)));
    const PipelineSchedule schedule = make_schedule(order, shape);
    const auto applied = PipelineRun(schedule, stages, batches, parameters).update();
    for (size_t stage = 0; stage < stages.size(); ++stage)
      expect_equal_update(applied[stage], *stages[stage], expected.applied, *whole);
  }
}

/// Between them, 1 to 9 micro-batches.
TEST_P(PipelineParallel, UpdateIsThatOfTheWholeModel) {
  const std::vector<PipelineOrder> of_one_part = {PipelineOrder::gpipe, PipelineOrder::one_f_one_b};
  const std::vector<PipelineOrder> of_several = {PipelineOrder::gpipe, PipelineOrder::interleaved};
  for (int64_t stages = 2; stages <= 4; ++stages) {
    expect_pipelines(GetParam(), {stages, 2 * stages + 1, 1}, of_one_part);  // 5, 7, 9
    expect_pipelines(GetParam(), {stages, 2 * stages - 2, 2}, of_several);   // 2, 4, 6
  }
}

TEST_P(PipelineParallel, OfFewAndOfManyMicroBatches) {
  for (const int64_t micro_batches : {1, 3, 8})
    expect_pipelines(GetParam(), {2, micro_batches, 1}, {PipelineOrder::one_f_one_b});
}

/// Gradients that cross a boundary have the loss scale as a factor.
TEST_P(PipelineParallel, WithALossScale) {
  expect_pipelines(GetParam(), {3, 2, 1}, {PipelineOrder::gpipe}, 1024);
}

INSTANTIATE_TEST_SUITE_P(Families, PipelineParallel, ::testing::ValuesIn(kPipelineModels),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt
