#include "compiler/search/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <tuple>

#include "compiler/search/parallel_calls.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// What a candidate's entries without a backward phase depend on.
using OtherKey = std::tuple<std::string, int64_t,
                            int>;  // the axes that share parameters; records; whether parameters are in parts

/// Without what passes would report.
CompileOptions unreported(CompileOptions options) {
  std::vector<std::string> disabled = options.passes.disabled;
  options.passes = {};
  options.passes.disabled = std::move(disabled);
  options.explain_fusion = options.explain_sharding = options.tune = false;
  options.dump_dir.clear();
  return options;
}

int64_t arena_of(const Program& program) {
  int64_t bytes = 0;
  for (const PlanEntry& entry : program.entries) bytes = std::max(bytes, entry.arena_bytes);
  return bytes;
}

int64_t states_of(const Program& program) {
  int64_t bytes = 0;
  for (const State& state : program.states)
    bytes += bytes_at_bounds(program.symbols, element_count(state.shape), state.dtype);
  return bytes;
}

bool works_along(const Program& program, const std::string& axis) {
  return llvm::any_of(program.entries, [&](const PlanEntry& entry) {
    return llvm::any_of(entry.steps, [&](const Step& step) {
      const auto* collective = std::get_if<CollectiveStep>(&step.what);
      return collective && collective->axis == axis;
    });
  });
}

EntryTime update_time(const Program& program, int64_t micro_batches, const MachineRates& rates) {
  EntryTime time;
  for (const PlanEntry& entry : program.entries) {
    const double times = entry.name == "accumulate" ? static_cast<double>(micro_batches) : 1;
    if ((micro_batches > 1) == (entry.name == "train_step")) continue;
    time += times * predicted_time(program, entry, rates);
  }
  return time;
}

/// In GiB, or, where that is little, in MiB.
std::string memory_text(int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.2f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

/// Candidates that are compiled at once: the same on every machine, so that its table is, too.
constexpr size_t kTogether = 4;

class Search {
 public:
  Search(const Description& description, const CompileOptions& base, const MachineRates& rates,
         const PlanSearchOptions& options)
      : description_(description), base_(unreported(base)), rates_(rates), options_(options) {
    const auto built = description.build(build_options(base_));
    result_.base_batch = batch_ = batch_of(*built);
    note_others(*built);
    result_.records = batch_ * options.micro_batches * options.ranks;
    levels_ = recompute_levels(resolved_target(base_), base_);
  }

  PlanSearch run() {
    const auto begin = std::chrono::steady_clock::now();
    compile_all(roots());
    while (!waiting_.empty()) {
      std::vector<Waiting> next;
      std::swap(next, waiting_);
      std::ranges::stable_sort(next, {}, &Waiting::at_least);
      for (size_t i = 0; i < next.size(); i += kTogether)
        look_at(std::span(next).subspan(i, std::min(kTogether, next.size() - i)));
    }
    sort();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(result_);
  }

 private:
  /// What is looked at where what it comes from did not fit.
  struct Waiting {
    PlanCandidate candidate;
    double at_least;  // seconds
  };

  static int64_t batch_of(const Module& module) {
    if (!module.symbols.declared("B"))
      fail(
          "a search for plans shares out the batch B, and the model has no such symbol: give --mesh and "
          "--zero");
    return module.symbols.upper(Dim::symbol("B"));
  }

  /// Entries that a plan has beside those of training.
  void note_others(const Module& built) {
    if (!base_.entries.empty()) return;
    others_ = {"evaluate"};
    for (const auto& graph : built.graphs)
      if (graph->name != base_.training.loss && graph->name != "evaluate") others_.push_back(graph->name);
  }

  /// One micro-batch as large as can be, nothing computed again: of each mesh and stage of ZeRO.
  std::vector<PlanCandidate> roots() {
    std::vector<PlanCandidate> roots;
    for (const Mesh& mesh : training_meshes(options_.ranks)) {
      const int64_t ranks = data_ranks(mesh);
      for (int zero = 0; zero <= (ranks > 1 ? 3 : 0); ++zero)
        if (auto root = with_micro_batches({mesh, zero, 1, 1, {}}, 1)) roots.push_back(*root);
    }
    return roots;
  }

  /// The fewest micro-batches from `least` on that share out the records.
  std::optional<PlanCandidate> with_micro_batches(PlanCandidate candidate, int64_t least) const {
    const int64_t records = result_.records / data_ranks(candidate.mesh);
    for (int64_t count = least; count <= records; ++count) {
      if (records % count != 0) continue;
      candidate.micro_batches = count, candidate.batch = records / count;
      return candidate;
    }
    return std::nullopt;
  }

  void compile_all(const std::vector<PlanCandidate>& candidates) {
    std::vector<SearchedPlan> plans(candidates.size());
    call_in_parallel(candidates.size(), options_.threads,
                     [&](size_t i) { plans[i] = compiled(candidates[i]); });
    compile_others(plans);
    for (SearchedPlan& plan : plans) add(std::move(plan));
  }

  /// Evaluation of these, where it is not known from others.
  void compile_others(const std::vector<SearchedPlan>& plans) {
    if (others_.empty()) return;
    std::map<OtherKey, const PlanCandidate*> wanted;
    for (const SearchedPlan& plan : plans)
      if (plan.problem.empty() && !other_arenas_.count(key_of(plan.candidate)))
        wanted[key_of(plan.candidate)] = &plan.candidate;
    const std::vector<std::pair<OtherKey, const PlanCandidate*>> list(wanted.begin(), wanted.end());
    std::vector<int64_t> arenas(list.size());
    call_in_parallel(list.size(), options_.threads,
                     [&](size_t i) { arenas[i] = arena_of_others(*list[i].second); });
    for (size_t i = 0; i < list.size(); ++i) other_arenas_[list[i].first] = arenas[i];
  }

  void look_at(std::span<const Waiting> several) {
    std::vector<PlanCandidate> candidates;
    for (const Waiting& one : several)
      if (!best_ || one.at_least < *best_) candidates.push_back(one.candidate);
    result_.left_out += static_cast<int64_t>(several.size() - candidates.size());
    compile_all(candidates);
  }

  SearchedPlan compiled(const PlanCandidate& candidate) const {
    SearchedPlan plan;
    plan.candidate = candidate;
    try {
      const Program program =
          smelt::compile(description_, options_of(candidate, base_, batch_), Stage::program).program;
      require_axes(program, candidate.mesh);
      plan.state_bytes = states_of(program), plan.arena_bytes = arena_of(program);
      plan.time = update_time(program, candidate.micro_batches, rates_);
    } catch (const Error& error) {
      plan.problem = error.what();
    }
    return plan;
  }

  static void require_axes(const Program& program, const Mesh& mesh) {
    for (const MeshAxis& axis : mesh.axes)
      if (!works_along(program, axis.name))
        fail("nothing of the model is shared along the axis {}: its ranks would all do the same", axis.name);
  }

  void add(SearchedPlan plan) {
    if (plan.problem.empty()) {
      if (!others_.empty())
        plan.arena_bytes = std::max(plan.arena_bytes, other_arenas_.at(key_of(plan.candidate)));
      plan.fits = !options_.budget || plan.bytes() <= *options_.budget;
      if (plan.fits)
        best_ = std::min(best_.value_or(plan.time.seconds), plan.time.seconds);
      else
        save_memory(plan);
    } else {
      plan.fits = false;
    }
    result_.plans.push_back(std::move(plan));
  }

  /// States do not shrink with the batch, nor with what is computed again.
  void save_memory(const SearchedPlan& plan) {
    if (plan.state_bytes > *options_.budget) return;
    const PlanCandidate& candidate = plan.candidate;
    const size_t level = static_cast<size_t>(llvm::find(levels_, candidate.recompute) - levels_.begin());
    if (level + 1 < levels_.size()) {
      PlanCandidate next = candidate;
      next.recompute = levels_[level + 1];
      waiting_.push_back({next, plan.time.seconds});
    }
    if (level > 0) return;
    if (const auto next = with_micro_batches(candidate, 2 * candidate.micro_batches))
      waiting_.push_back({*next, plan.time.seconds});
  }

  /// Candidates in which evaluation is the same have one key.
  static OtherKey key_of(const PlanCandidate& candidate) {
    Mesh mesh = candidate.mesh;
    if (candidate.zero < 3)
      llvm::erase_if(mesh.axes, [](const MeshAxis& axis) { return axis.name == "data"; });
    return {str(mesh), candidate.batch, candidate.zero == 3};
  }

  int64_t arena_of_others(const PlanCandidate& candidate) const {
    CompileOptions options = options_of(candidate, base_, batch_);
    options.entries = others_;
    return arena_of(smelt::compile(description_, options, Stage::program).program);
  }

  void sort() {
    std::ranges::stable_sort(result_.plans, {}, [](const SearchedPlan& plan) {
      const bool is_known = plan.problem.empty();
      const double order = plan.fits ? plan.time.seconds : static_cast<double>(plan.bytes());
      return std::tuple(!is_known, !plan.fits, is_known ? order : 0.0);
    });
  }

  const Description& description_;
  const CompileOptions base_;
  const MachineRates& rates_;
  const PlanSearchOptions options_;
  int64_t batch_ = 1;  // the bound of B that base_ has
  std::vector<std::string> others_;
  std::vector<RecomputePolicy> levels_;
  std::map<OtherKey, int64_t> other_arenas_;
  std::vector<Waiting> waiting_;
  std::optional<double> best_;  // seconds of the fastest that fits
  PlanSearch result_;
};

}  // namespace

const SearchedPlan& PlanSearch::best(std::optional<int64_t> budget) const {
  if (!plans.empty() && plans.front().fits) return plans.front();
  if (plans.empty() || !plans.front().problem.empty())
    fail("no plan was found: {}",
         plans.empty() ? "there are no records to share out" : plans.front().problem);
  const SearchedPlan& least = plans.front();
  fail(
      "no plan fits in {} a rank: the least takes {}, of which states {}; give a larger --memory-budget, "
      "more "
      "ranks, narrower numbers (--precision bf16, --masters none) or another --optimizer",
      memory_text(budget.value_or(0)), memory_text(least.bytes()), memory_text(least.state_bytes));
}

PlanSearch search_plans(const Description& description, const CompileOptions& base, const MachineRates& rates,
                        const PlanSearchOptions& options) {
  if (!base.pipeline.empty()) fail("a search for plans uses the default passes: leave --pipeline out");
  if (base.mode != Mode::train) fail("a search for plans is of training: leave --mode infer out");
  return Search(description, base, rates, options).run();
}

}  // namespace smelt
