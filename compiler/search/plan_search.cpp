#include "compiler/search/plan_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <tuple>

#include "compiler/driver/pipeline_stages.h"
#include "compiler/search/least_time.h"
#include "compiler/search/parallel_calls.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// The properties of a candidate that its entries without a backward phase depend on: the axes that share
/// parameters; records; whether parameters are sharded, and whether sequences are.
using OtherKey = std::tuple<std::string, int64_t, bool, bool>;

/// Returns the options without reports of passes.
CompileOptions unreported(CompileOptions options) {
  std::vector<std::string> disabled = options.passes.disabled;
  options.passes = {};
  options.passes.disabled = std::move(disabled);
  options.explain_fusion = options.explain_sharding = options.tune = false;
  options.dump_dir.clear();
  options.memory_budget.reset();
  return options;
}

/// Returns a text in GiB, or, for small numbers, in MiB.
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
    const Target target = resolved_target(base_);
    levels_ = recompute_levels(target, base_);
    no_stages_ = options.no_stages;
    if (no_stages_.empty()) no_stages_ = fmt::format("{}", fmt::join(why_no_stages(base_), "; "));
  }

  PlanSearch run() {
    const auto begin = std::chrono::steady_clock::now();
    compile_all(plain_candidates());
    for (const Mesh& mesh : training_meshes(options_.ranks)) consider(mesh);
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
  /// A candidate to visit if the candidate that it was derived from did not fit.
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

  /// Records the entries that a plan has in addition to those of training.
  void note_others(const Module& built) {
    if (!base_.entries.empty()) return;
    others_ = {"evaluate"};
    for (const auto& graph : built.graphs)
      if (graph->name != base_.training.loss && graph->name != "evaluate") others_.push_back(graph->name);
  }

  /// Returns, for each mesh without stages, the candidate that shards nothing else.
  std::vector<PlanCandidate> plain_candidates() {
    std::vector<PlanCandidate> plain;
    for (const Mesh& mesh : training_meshes(options_.ranks))
      if (const PlanCandidate first = variants_of(mesh).front(); first.stages() == 1)
        if (const auto candidate = with_micro_batches(first, 1)) plain.push_back(*candidate);
    return plain;
  }

  /// Considers the other candidates of a mesh, each with the number of micro-batches that may be the fastest:
  /// one, or, with stages, the number that keeps them busy.
  void consider(const Mesh& mesh) {
    for (const PlanCandidate& variant : variants_of(mesh)) {
      const bool has_stages = variant.stages() > 1;
      if (variant == variants_of(mesh).front() && !has_stages) continue;
      if (has_stages && !no_stages_.empty())
        return refuse(variant, fmt::format("not offered: {}", no_stages_));
      const auto plain = least_.find(variant.ranks("model"));
      if (plain == least_.end()) return;  // for the reason given with that mesh
      if (const auto best = fastest(variant, plain->second))
        waiting_.push_back({*best, plain->second.of(*best)});
    }
  }

  void refuse(const PlanCandidate& candidate, std::string problem) {
    result_.plans.push_back({.candidate = candidate, .problem = std::move(problem), .fits = false});
  }

  std::optional<PlanCandidate> fastest(const PlanCandidate& variant, LeastTime& plain) const {
    std::optional<PlanCandidate> best = with_micro_batches(variant, 1);
    if (variant.stages() == 1) return best;
    for (auto next = best; next; next = with_micro_batches(variant, next->micro_batches + 1))
      if (plain.of(*next) < plain.of(*best)) best = next;
    return best;
  }

  /// The fewest micro-batches from `least` on that share out the records.
  std::optional<PlanCandidate> with_micro_batches(PlanCandidate candidate, int64_t least) const {
    const int64_t records = result_.records / candidate.ranks("data");
    for (int64_t count = least; count <= records; ++count) {
      if (records % count != 0) continue;
      candidate.micro_batches = count, candidate.batch = records / count;
      return candidate;
    }
    return std::nullopt;
  }

  /// A candidate's programs, one a stage, or what is wrong with it.
  struct Compiled {
    std::vector<Program> programs;
    std::vector<std::string> problems;
  };

  void compile_all(const std::vector<PlanCandidate>& candidates) {
    std::vector<Compiled> compiled(candidates.size());
    std::vector<std::pair<size_t, size_t>> work;  // candidate, stage
    for (size_t i = 0; i < candidates.size(); ++i) {
      const auto stages = static_cast<size_t>(candidates[i].stages());
      compiled[i].programs.resize(stages), compiled[i].problems.resize(stages);
      for (size_t stage = 0; stage < stages; ++stage) work.emplace_back(i, stage);
    }
    call_in_parallel(work.size(), options_.threads, [&](size_t i) {
      const auto [which, stage] = work[i];
      compile_stage(candidates[which], stage, compiled[which]);
    });
    std::vector<SearchedPlan> plans;
    for (size_t i = 0; i < candidates.size(); ++i) plans.push_back(judged(candidates[i], compiled[i]));
    compile_others(plans);
    for (SearchedPlan& plan : plans) add(std::move(plan));
  }

  void compile_stage(const PlanCandidate& candidate, size_t stage, Compiled& into) const {
    try {
      into.programs[stage] =
          smelt::compile(description_, options_of(candidate, base_, batch_, static_cast<int64_t>(stage)),
                         Stage::program)
              .program;
    } catch (const Error& error) {
      into.problems[stage] = error.what();
    }
  }

  SearchedPlan judged(const PlanCandidate& candidate, Compiled& compiled) {
    SearchedPlan plan;
    plan.candidate = candidate;
    for (std::string& problem : compiled.problems)
      if (plan.problem.empty()) plan.problem = std::move(problem);
    if (!plan.problem.empty()) return plan;
    try {
      plan.cost = cost_of(compiled.programs, candidate, rates_);
      if (is_plain(candidate))
        least_.try_emplace(candidate.ranks("model"), std::move(compiled.programs.front()), candidate.batch,
                           rates_.compute);
    } catch (const Error& error) {
      plan.problem = error.what();
    }
    return plan;
  }

  bool is_plain(const PlanCandidate& candidate) const {
    return candidate.stages() == 1 && candidate == with_micro_batches(variants_of(candidate.mesh).front(), 1);
  }

  /// Evaluation of these, where it is not known from others.
  void compile_others(const std::vector<SearchedPlan>& plans) {
    if (others_.empty()) return;
    std::map<OtherKey, const PlanCandidate*> wanted;
    for (const SearchedPlan& plan : plans)
      if (has_others(plan) && !other_arenas_.count(key_of(plan.candidate)))
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

  /// Returns whether evaluation can decide if the plan fits: plans with stages contain it already, and a plan
  /// that is too large stays so.
  bool has_others(const SearchedPlan& plan) const {
    return !others_.empty() && plan.problem.empty() && plan.candidate.stages() == 1 && fits(plan);
  }
  bool fits(const SearchedPlan& plan) const {
    return !options_.budget || plan.cost.bytes() <= *options_.budget;
  }

  void add(SearchedPlan plan) {
    if (has_others(plan))
      plan.cost.arena_bytes = std::max(plan.cost.arena_bytes, other_arenas_.at(key_of(plan.candidate)));
    plan.fits = plan.problem.empty() && fits(plan);
    if (plan.fits)
      best_ = std::min(best_.value_or(plan.cost.time.seconds), plan.cost.time.seconds);
    else if (plan.problem.empty())
      save_memory(plan);
    result_.plans.push_back(std::move(plan));
  }

  /// States do not shrink with the batch, nor with what is computed again.
  void save_memory(const SearchedPlan& plan) {
    if (plan.cost.state_bytes > *options_.budget) return;
    const PlanCandidate& candidate = plan.candidate;
    const size_t level = static_cast<size_t>(llvm::find(levels_, candidate.recompute) - levels_.begin());
    if (level + 1 < levels_.size()) {
      PlanCandidate next = candidate;
      next.recompute = levels_[level + 1];
      waiting_.push_back({next, plan.cost.time.seconds});
    }
    if (level > 0) return;
    if (const auto next = smaller_batches(plan)) waiting_.push_back({*next, plan.cost.time.seconds});
  }

  /// Returns a candidate with at least twice as many micro-batches, enough for the memory to suffice, if all
  /// memory but that of states shrinks in proportion to the batch. ZeRO 2 differs from 1 only with several
  /// micro-batches.
  std::optional<PlanCandidate> smaller_batches(const SearchedPlan& plan) {
    const PlanCandidate& candidate = plan.candidate;
    const int64_t rest = plan.cost.bytes() - plan.cost.state_bytes;
    auto next = with_micro_batches(candidate, 2 * candidate.micro_batches);
    while (next && plan.cost.state_bytes + rest * next->batch / candidate.batch > *options_.budget)
      next = with_micro_batches(candidate, 2 * next->micro_batches);
    if (next && candidate.zero == 1 && candidate.stages() == 1 && candidate.micro_batches == 1) {
      PlanCandidate cut = *next;
      cut.zero = 2;
      waiting_.push_back({cut, plan.cost.time.seconds});
    }
    return next;
  }

  /// Candidates in which evaluation is the same have one key.
  static OtherKey key_of(const PlanCandidate& candidate) {
    Mesh mesh = candidate.mesh;
    if (candidate.zero < 3)
      llvm::erase_if(mesh.axes, [](const MeshAxis& axis) { return axis.name == "data"; });
    return {str(mesh), candidate.batch, candidate.zero == 3, candidate.sequence_parallel};
  }

  int64_t arena_of_others(const PlanCandidate& candidate) const {
    CompileOptions options = options_of(candidate, base_, batch_);
    options.entries = others_;
    return arena_of(smelt::compile(description_, options, Stage::program).program);
  }

  void sort() {
    std::ranges::stable_sort(result_.plans, {}, [](const SearchedPlan& plan) {
      const bool is_known = plan.problem.empty();
      const double order = plan.fits ? plan.cost.time.seconds : static_cast<double>(plan.cost.bytes());
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
  std::string no_stages_;               // why there are none; empty: there are
  std::map<int64_t, LeastTime> least_;  // by ranks along the axis model
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
      "ranks, narrower numbers (--precision=bf16, --masters=none) or another --optimizer",
      memory_text(budget.value_or(0)), memory_text(least.cost.bytes()), memory_text(least.cost.state_bytes));
}

PlanSearch search_plans(const Description& description, const CompileOptions& base, const MachineRates& rates,
                        const PlanSearchOptions& options) {
  if (!base.pipeline.empty()) fail("a search for plans uses the default passes: leave --pipeline out");
  if (base.mode != Mode::train) fail("a search for plans is of training: leave --mode=infer out");
  return Search(description, base, rates, options).run();
}

}  // namespace smelt
