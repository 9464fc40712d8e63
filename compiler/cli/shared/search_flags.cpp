#include "compiler/cli/shared/search_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "compiler/cli/shared/text_table.h"
#include "runtime/base/error.h"
#include "runtime/cpu/memory.h"
#include "runtime/cuda/device.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

/// GPU memory that libraries take in addition to the plan: workspaces, communicators, code.
constexpr int64_t kBytesOfLibraries = int64_t{1} << 30;

struct Budget {
  std::optional<int64_t> bytes;
  std::string source;
};

Budget budget_of(const CompileOptions& options, const Target& target, int64_t ranks) {
  if (options.memory_budget) return {options.memory_budget, "--memory-budget"};
  if (!target.can.own_memory)
    return {available_memory() / ranks, "this machine's free memory, shared by the ranks"};
  const bool is_here = cuda::device_count() > 0 && (options.target == "native" || options.target == "cuda");
  if (!is_here) return {std::nullopt, "the memory of the target is not known here: --memory-budget names it"};
  const auto free = static_cast<int64_t>(cuda::Device::open(options.device).free_bytes());
  return {std::max<int64_t>(free - kBytesOfLibraries, 1), "the GPU's free memory, but 1 GiB for libraries"};
}

/// The mesh as --mesh takes it, also of one rank.
std::string ranks_text(const Mesh& mesh) { return mesh.empty() ? "data=1" : mesh_text(mesh); }

std::string gib(int64_t bytes) { return fmt::format("{:.3f}", static_cast<double>(bytes) / (1 << 30)); }
std::string ms(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

/// A message on one line, as far as a table has room.
std::string brief_reason(std::string text) {
  constexpr size_t kMost = 160;
  std::ranges::replace(text, '\n', ' ');
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::vector<std::string> cells_of(const SearchedPlan& plan, bool is_best) {
  const PlanCandidate& c = plan.candidate;
  std::vector<std::string> cells = {is_best ? ">" : "",
                                    ranks_text(c.mesh),
                                    std::to_string(c.zero),
                                    c.ranks("model") == 1 ? ""
                                    : c.sequence_parallel ? "cut"
                                                          : "whole",
                                    c.stages() == 1 ? "" : std::to_string(c.parts_a_stage),
                                    fmt::format("{} x {}", c.micro_batches, c.batch),
                                    c.recompute.str()};
  if (!plan.problem.empty()) {
    cells.insert(cells.end(), {"", "", "", "", "", brief_reason(plan.problem)});
    return cells;
  }
  const PlanCost& cost = plan.cost;
  cells.insert(cells.end(), {ms(cost.time.seconds), ms(cost.time.exposed),
                             c.stages() == 1 ? "" : fmt::format("{:.1f}%", 100 * cost.bubble),
                             gib(cost.bytes()), gib(cost.state_bytes), plan.fits ? "" : "does not fit"});
  return cells;
}

std::string table_text(const PlanSearch& search, const MachineRates& rates, const Budget& budget) {
  TextTable table({"", "mesh", "zero", "sequences", "parts", "micro-batches", "recompute", "predicted ms",
                   "exposed ms", "bubble", "GiB a rank", "of states", ""});
  for (const SearchedPlan& plan : search.plans)
    table.add(cells_of(plan, &plan == search.plans.data() && plan.fits));
  std::string text = fmt::format("{} records an update; {}\n", search.records, rates.source);
  text += budget.bytes ? fmt::format("memory: {} a rank ({})\n", bytes_text(*budget.bytes), budget.source)
                       : fmt::format("memory: any ({})\n", budget.source);
  text += table.text();
  text += fmt::format("{} looked at in {:.1f} s", search.plans.size(), search.seconds);
  if (search.left_out > 0)
    text += fmt::format("; {} left out, which cannot be faster than the first", search.left_out);
  return text + "\n";
}

}  // namespace

void SearchFlags::add_to(CLI::App& command) {
  auto* search = command.add_flag(
      "--plan-search", is_on,
      "choose --mesh, --zero, --sequence-parallel, --pipeline-parts, micro-batches and --recompute: the plan "
      "that is predicted to be the fastest of those that fit into --memory-budget, or else into the memory "
      "there is; says what there was to choose from "
      "(docs/guides/distributed.md)");
  for (const char* other : {"--mesh", "--zero", "--sequence-parallel", "--pipeline-parts", "--recompute"})
    search->excludes(command.get_option(other));
}

void SearchFlags::add_simulated(CLI::App& command) {
  add_to(command);
  command.add_option("--mesh-size", ranks, "how many ranks --plan-search is for; none have to be there")
      ->check(CLI::Range(int64_t{1}, kMostRanksOfMesh))
      ->needs("--plan-search");
}

void ChosenPlan::apply(CompileOptions& options) const {
  options.build.bounds = with_batch(options.build.bounds, base_batch, batch);
  for (Symbols::Bound& bound : options.build.bounds)
    if (bound.factors == std::vector<std::string>{"B"}) bound.upper = batch;
  options.mesh = parse_mesh(mesh);
  options.zero = zero;
  options.sequence_parallel = sequence_parallel;
  options.parts_a_stage = parts_a_stage;
  options.memory_budget.reset();
  options.recompute = parse_recompute_policy(recompute);
}

std::string to_text(const ChosenPlan& plan) {
  const Json json = {{"sequence_parallel", plan.sequence_parallel},
                     {"parts_a_stage", plan.parts_a_stage},
                     {"bubble", plan.bubble},
                     {"mesh", plan.mesh},
                     {"recompute", plan.recompute},
                     {"zero", plan.zero},
                     {"batch", plan.batch},
                     {"bytes", plan.bytes},
                     {"micro_batches", plan.micro_batches},
                     {"seconds", plan.seconds},
                     {"base_batch", plan.base_batch},
                     {"exposed", plan.exposed}};
  return json.dump();
}

ChosenPlan parse_chosen_plan(std::string_view text) {
  const Json json = parse_json(text, "the chosen plan");
  try {
    return {.mesh = json.at("mesh"),
            .recompute = json.at("recompute"),
            .zero = json.at("zero"),
            .sequence_parallel = json.at("sequence_parallel"),
            .parts_a_stage = json.at("parts_a_stage"),
            .batch = json.at("batch"),
            .micro_batches = json.at("micro_batches"),
            .base_batch = json.at("base_batch"),
            .bytes = json.at("bytes"),
            .seconds = json.at("seconds"),
            .exposed = json.at("exposed"),
            .bubble = json.at("bubble")};
  } catch (const Json::exception& error) {
    fail("the chosen plan that rank 0 sent cannot be read: {}", error.what());
  }
}

FoundPlan find_plan(const SearchedModel& model, int64_t ranks) {
  const Target target = resolved_target(model.options);
  const MachineRates rates = machine_rates(target, model.options.device, ranks, cache_directory());
  const Budget budget = budget_of(model.options, target, ranks);
  FoundPlan found;
  found.search = search_plans(model.description, model.options, rates,
                              {.ranks = ranks,
                               .micro_batches = model.micro_batches,
                               .budget = budget.bytes,
                               .no_stages = model.no_stages});
  found.table = table_text(found.search, rates, budget);
  found.budget = budget.bytes;
  return found;
}

ChosenPlan FoundPlan::chosen() const {
  const SearchedPlan& plan = search.best(budget);
  const PlanCandidate& c = plan.candidate;
  return {.mesh = ranks_text(c.mesh),
          .recompute = c.recompute.str(),
          .zero = c.zero,
          .sequence_parallel = c.sequence_parallel,
          .parts_a_stage = c.parts_a_stage,
          .batch = c.batch,
          .micro_batches = c.micro_batches,
          .base_batch = search.base_batch,
          .bytes = plan.cost.bytes(),
          .seconds = plan.cost.time.seconds,
          .exposed = plan.cost.time.exposed,
          .bubble = plan.cost.bubble};
}

void train_over_ranks(const SearchFlags& flags, const Mesh& mesh,
                      const std::function<SearchedModel(int device)>& model,
                      const std::function<void(TrainRanks*, const ChosenPlan*)>& train) {
  if (!flags.is_on) return train_over_ranks(mesh, [&](TrainRanks* ranks) { train(ranks, nullptr); });
  const Launch launch = read_launch(process_environment());
  const auto choose = [&] {
    const int visible = launch.size > 1 ? cuda::device_count() : 0;
    const FoundPlan found = find_plan(model(visible > 0 ? device_of(launch, visible) : -1), launch.size);
    fmt::print(stderr, "{}", found.table);
    return found.chosen();
  };
  if (launch.size == 1) {
    const ChosenPlan chosen = choose();
    return train(nullptr, &chosen);
  }
  join_ranks(launch, [&](Ranks& ranks) {
    const std::string text = ranks.rank() == 0 ? to_text(choose()) : "";
    const ChosenPlan chosen = parse_chosen_plan(ranks.link().broadcast("the chosen plan", text));
    TrainRanks joined(ranks, launch, parse_mesh(chosen.mesh));
    train(&joined, &chosen);
  });
}

void print_search(SearchedModel model, int64_t ranks) {
  model.options.training.optimizer.keep_gradients = false;  // as training does
  const FoundPlan found = find_plan(model, std::max<int64_t>(ranks, 1));
  fmt::print("{}", found.table);
  static_cast<void>(found.chosen());
}

std::string prediction_text(const ChosenPlan& plan, double measured_seconds) {
  const std::string idle =
      plan.bubble > 0 ? fmt::format(", {:.1f}% of it idle", 100 * plan.bubble) : std::string();
  return fmt::format("predicted {} a step, {} of it for other ranks{}; measured {} ({:.2f} x)",
                     seconds_text(plan.seconds), seconds_text(plan.exposed), idle,
                     seconds_text(measured_seconds), plan.seconds > 0 ? measured_seconds / plan.seconds : 0);
}

}  // namespace smelt::cli
