#include "compiler/driver/memory_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/driver/pass_pipeline.h"
#include "compiler/driver/step_cost.h"
#include "ir/analysis/host_states.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/program/memory/lifetimes.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kLayers[] = {1, 2, 3, 4};
constexpr int kPrices = 15;
constexpr double kStep = 1.5;         // between prices, which are around matmul_price
constexpr double kLeastApart = 0.02;  // of what is kept without a price, between policies that are compiled
constexpr int kHalvings = 4;          // of the segments between two policies
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool trains(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [](const auto& node) { return in_backward(*node); });
}

/// Returns the options without reports of passes.
CompileOptions quiet(CompileOptions options) {
  std::vector<std::string> disabled = options.passes.disabled;
  options.passes = {};
  options.passes.disabled = std::move(disabled);
  options.explain_fusion = options.explain_sharding = false;
  return options;
}

std::unique_ptr<Module> part_of(const Module& module, llvm::function_ref<bool(const Graph&)> belongs) {
  auto part = module.clone();
  llvm::erase_if(part->graphs, [&](const auto& graph) { return !belongs(*graph); });
  return part;
}

int64_t largest_arena(const Program& program) {
  int64_t bytes = 0;
  for (const PlanEntry& entry : program.entries) bytes = std::max(bytes, entry.arena_bytes);
  return bytes;
}

/// Returns the bytes of buffers of the arena that are written in the forward phase and read after it.
int64_t kept_bytes(const Program& program, const PlanEntry& entry) {
  std::set<int> made, kept;
  for (const Step& step : entry.steps) {
    const bool is_forward = step.phase == name(Phase::forward);
    if (is_forward) made.insert(step.writes.begin(), step.writes.end());
    for (const int buffer : step.reads)
      if (!is_forward && made.count(buffer) && in_arena(program.buffers[static_cast<size_t>(buffer)]))
        kept.insert(buffer);
  }
  int64_t bytes = 0;
  for (const int buffer : kept)
    bytes += bytes_at_bounds(program, program.buffers[static_cast<size_t>(buffer)]);
  return bytes;
}

/// A policy that has been compiled.
struct Tried {
  int64_t layers, kept;  // bytes as the graph's types have them
};

class CurveTracer {
 public:
  CurveTracer(const Module& prepared, const Target& target, const CompileOptions& options)
      : target_(target), options_(quiet(options)) {
    if (!options.pipeline.empty())
      fail("a budget of memory chooses what rematerialize does: leave --pipeline out");
    const auto first = llvm::find_if(prepared.graphs, [](const auto& graph) { return trains(*graph); });
    if (first == prepared.graphs.end())
      fail(
          "a budget of memory is for training steps, and this plan has none: leave --memory-budget and "
          "--memory-curve out");
    const std::string step = (*first)->name;
    step_ = part_of(prepared, [&](const Graph& graph) { return graph.name == step; });
    rest_ = part_of(prepared, [&](const Graph& graph) { return graph.name != step && trains(graph); });
    auto others = part_of(prepared, [](const Graph& graph) { return !trains(graph); });
    if (!others->graphs.empty()) other_arena_ = largest_arena(made(std::move(others)));
  }

  std::vector<MemoryPoint> run() {
    add({});
    const std::vector<double> prices = add_prices();
    for (const int64_t layers : kLayers)
      if (!add_layers(prices, layers)) break;
    keep_best();
    for (MemoryPoint& point : points_) complete(point);
    keep_best();
    if (options_.memory_budget) add_between(*options_.memory_budget);
    keep_best();
    if (options_.recompute.has_price()) add_anyway(options_.recompute);
    std::ranges::stable_sort(points_, {}, &MemoryPoint::seconds);
    return std::move(points_);
  }

 private:
  double middle_price() const { return matmul_price(rates_of(target_), options_.storage, options_.tf32); }

  /// Returns those that made a difference.
  std::vector<double> add_prices() {
    std::vector<double> prices;
    for (int i = 0; i < kPrices; ++i) {
      const int exponent = i - kPrices / 2;
      const double price = i + 1 < kPrices ? middle_price() * std::pow(kStep, exponent) : kInfinity;
      if (add({.seconds_per_gib = price})) prices.push_back(price);
    }
    if (prices.empty() || prices.back() < kInfinity) prices.push_back(kInfinity);
    return prices;
  }

  /// Adds policies with segments of `layers` layers; returns whether longer segments save memory.
  bool add_layers(const std::vector<double>& prices, int64_t layers) {
    for (const double price : prices) add({.seconds_per_gib = price, .layers = layers});
    keep_best();
    return llvm::any_of(points_, [&](const MemoryPoint& point) { return point.policy.layers == layers; });
  }

  /// Adds policies by bisection between the two points of the curve that enclose the budget.
  void add_between(int64_t budget) {
    const auto fits = llvm::find_if(points_, [&](const MemoryPoint& p) { return p.bytes() <= budget; });
    if (fits == points_.begin() || fits == points_.end()) return;
    RecomputePolicy policy = fits->policy;
    const RecomputePolicy faster = std::prev(fits)->policy;
    if (policy.share < 1 || faster.share < 1) return;
    policy.rest = faster.seconds_per_gib;
    double low = 0, high = 1;
    for (int i = 0; i < kHalvings; ++i) {
      policy.share = (low + high) / 2;
      add_anyway(policy);
      (points_.back().bytes() <= budget ? high : low) = policy.share;
    }
  }

  /// Adds a policy; returns whether it keeps clearly less or more than all earlier ones with segments as
  /// long.
  bool add(const RecomputePolicy& policy) {
    RematerializeReport report;
    auto module = recomputed(*step_, policy, &report);
    const auto is_near = [&](const Tried& other) {
      const auto apart = static_cast<double>(std::abs(other.kept - report.bytes_after));
      return other.layers == policy.layers && apart <= kLeastApart * static_cast<double>(tried_.front().kept);
    };
    if (llvm::any_of(tried_, is_near)) return false;
    tried_.push_back({policy.layers, report.bytes_after});
    points_.push_back(measured(made(std::move(module)), policy));
    return true;
  }

  void add_anyway(const RecomputePolicy& policy) {
    points_.push_back(measured(made(recomputed(*step_, policy, nullptr)), policy));
    complete(points_.back());
  }

  /// Adds the memory of the other entries with a backward phase.
  void complete(MemoryPoint& point) const {
    if (rest_->graphs.empty()) return;
    const Program program = made(recomputed(*rest_, point.policy, nullptr));
    point.arena_bytes = std::max(point.arena_bytes, largest_arena(program));
  }

  std::unique_ptr<Module> recomputed(const Module& from, const RecomputePolicy& policy,
                                     RematerializeReport* report) const {
    CompileOptions options = options_;
    options.recompute = policy;
    auto module = from.clone();
    run(recompute_passes(options, target_, {.recomputed = report}), *module);
    return module;
  }

  Program made(std::unique_ptr<Module> module) const {
    run(fusion_passes(options_, target_), *module);
    return run(program_passes(options_, target_), *module);
  }

  Program run(const std::vector<PassCall>& calls, Module& module) const {
    Program program;
    PassManager(options_.passes, all_passes()).run(calls, module, program);
    return program;
  }

  MemoryPoint measured(const Program& program, const RecomputePolicy& policy) const {
    const PlanEntry& entry = program.entries.front();
    MemoryPoint point{.policy = policy,
                      .arena_bytes = std::max(other_arena_, largest_arena(program)),
                      .kept_bytes = kept_bytes(program, entry),
                      .seconds = predicted_seconds(program, entry, rates_of(target_)),
                      .recomputed_flops = recomputed_flops(program, entry)};
    for (const State& state : program.states) point.state_bytes += device_bytes(program, state);
    return point;
  }

  /// Removes the policies that another one is better than.
  void keep_best() {
    std::ranges::stable_sort(points_, {},
                             [](const MemoryPoint& p) { return std::pair(p.seconds, p.bytes()); });
    std::vector<MemoryPoint> best;
    for (const MemoryPoint& point : points_)
      if (best.empty() || point.bytes() < best.back().bytes()) best.push_back(point);
    points_ = std::move(best);
  }

  const Target& target_;
  const CompileOptions options_;
  std::unique_ptr<Module> step_, rest_;  // the training step; other entries with a backward phase
  int64_t other_arena_ = 0;
  std::vector<Tried> tried_;
  std::vector<MemoryPoint> points_;
};

/// "12.34 GiB", and smaller units for less than one.
std::string amount(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  return fmt::format("{:.{}f} {}", number, unit > 0 ? 2 : 0, kUnits[unit]);
}

}  // namespace

std::vector<MemoryPoint> memory_curve(const Module& prepared, const Target& target,
                                      const CompileOptions& options) {
  return CurveTracer(prepared, target, options).run();
}

RecomputePolicy fastest_within(const std::vector<MemoryPoint>& curve, int64_t budget) {
  for (const MemoryPoint& point : curve)
    if (point.bytes() <= budget) return point.policy;
  const MemoryPoint& least = curve.back();
  fail(
      "no plan fits in a memory budget of {}: the least is {}, of which parameters, gradients, moments and "
      "other "
      "states take {}, and a step at the largest sizes {} (with --recompute={}); give a larger budget, or "
      "smaller sizes (--max), narrower numbers (--precision=bf16, --masters=none) or another --optimizer",
      amount(budget), amount(least.bytes()), amount(least.state_bytes), amount(least.arena_bytes),
      least.policy.str());
}

}  // namespace smelt
