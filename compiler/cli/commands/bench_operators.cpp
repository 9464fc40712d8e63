#include "compiler/cli/commands/bench_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/cli/shared/timer.h"
#include "compiler/driver/pass_pipeline.h"
#include "runtime/base/error.h"
#include "runtime/plan/choices.h"
#include "runtime/session/session.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

constexpr std::string_view kBackward = ".backward";

using IdRanges = std::map<std::string, IdRange>;

struct OperatorTime {
  std::string name, entry;
  double seconds = 0, spread = 0;
  int64_t bytes = 0, steps = 0;
  double copy = 0;  // bytes per second of a copy
  /// 0 where the difference of two times was lost in their noise because the sizes are too small.
  double rate() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

// ---- the graph as it is run

IdRanges id_ranges(const Module& module) {
  IdRanges ranges;
  for (const auto& graph : module.graphs)
    for (const Node* input : graph->inputs())
      if (const auto range = id_range(*input)) ranges[input->get(attr::name)] = *range;
  return ranges;
}

struct OperatorModule {
  std::unique_ptr<Module> module;
  IdRanges ids;  // of integer inputs, which are states now
};

OperatorModule operator_module(const std::string& file, const CompileOptions& options) {
  OperatorModule result{read_description(file).build(options.build), {}};
  PassManager before(options.passes, all_passes()), after(options.passes, all_passes());
  before.add("bound_ids,bind_symbols");
  before.run(*result.module);
  result.ids = id_ranges(*result.module);
  after.add(fmt::format("make_backward,simplify,store_ports{{storage={}}}", name(options.storage)));
  after.run(*result.module);
  return result;
}

void write_ids(Session& session, const std::string& state, const IdRange& range) {
  const std::span<std::byte> memory = session.state(state);
  std::mt19937 random(1);
  std::uniform_int_distribution<int32_t> id(0, static_cast<int32_t>(range.below) - 1);
  auto* ids = reinterpret_cast<int32_t*>(memory.data());
  std::generate_n(ids, memory.size() / sizeof *ids, [&] { return id(random); });
}

// ---- what must move

/// Steps of one phase, or of all where it is empty; of alternatives the first.
std::vector<const Step*> steps_of(const PlanEntry& entry, std::string_view phase) {
  std::vector<const Step*> steps;
  for (const Step& step : entry.steps)
    if (is_first_way(step) && (phase.empty() || step.phase == phase)) steps.push_back(&step);
  return steps;
}

/// Returns whether the buffer is used outside of `steps`: by other steps of the entry, or by the next run.
bool is_seen(const Program& program, const PlanEntry& entry, const std::vector<const Step*>& steps,
             int buffer) {
  if (program.buffers[static_cast<size_t>(buffer)].state >= 0) return true;
  return std::ranges::any_of(entry.steps, [&](const Step& step) {
    return is_first_way(step) && std::ranges::find(steps, &step) == steps.end() &&
           std::ranges::count(step.reads, buffer) > 0;
  });
}

/// Buffers that come from outside of the steps, and those that stay, each once and whole: what any kernels
/// for the same work would have to read and to write.
int64_t bytes_to_move(const Program& program, const PlanEntry& entry, std::string_view phase) {
  const std::vector<const Step*> steps = steps_of(entry, phase);
  std::set<int> read, written;
  for (const Step* step : steps) {
    for (const int buffer : step->reads)
      if (!written.contains(buffer)) read.insert(buffer);
    written.insert(step->writes.begin(), step->writes.end());
  }
  int64_t bytes = 0;
  for (const int buffer : read) bytes += program.buffers[static_cast<size_t>(buffer)].bytes;
  for (const int buffer : written)
    if (is_seen(program, entry, steps, buffer)) bytes += program.buffers[static_cast<size_t>(buffer)].bytes;
  return bytes;
}

// ---- one operator

class Operator {
 public:
  Operator(const std::string& file, const OperatorBench& options) : options_(options) {
    OperatorModule made = operator_module(file, options.compile);
    {
      const std::jthread preparation = prepare_executor(options.compile.target, options.compile.device);
      compilation_ = compile(std::move(made.module), options.compile);
    }
    if (options.compile.timing) print_timing(compilation_);
    name_ = std::filesystem::path(file).stem().string();
    session_ = std::make_unique<Session>(std::make_shared<const Plan>(std::move(compilation_.plan)),
                                         SessionOptions{.threads = options.threads});
    session_->initialize(1);
    for (const auto& [state, range] : made.ids) write_ids(*session_, state, range);
    copy_ = copy_bytes_per_second(session_->executor(), options.threads);
  }

  std::vector<OperatorTime> measure() {
    std::vector<OperatorTime> times;
    for (const PlanEntry& entry : compilation_.program.entries)
      if (!entry.name.ends_with(kBackward)) measure_both(entry, times);
    return times;
  }

 private:
  /// Forward, then with backward, of which forward's time is taken away.
  void measure_both(const PlanEntry& entry, std::vector<OperatorTime>& times) {
    times.push_back(time(entry, entry.name, ""));
    const double forward = times.back().seconds;
    for (const PlanEntry& both : compilation_.program.entries) {
      if (both.name != entry.name + std::string(kBackward)) continue;
      const std::string label = entry.name == "forward" ? "backward" : both.name;
      times.push_back(time(both, label, "backward"));
      times.back().seconds -= forward;
    }
  }

  OperatorTime time(const PlanEntry& entry, const std::string& label, std::string_view phase) {
    for (int i = 0; i < 2; ++i) run(entry, 1);  // the second one is captured
    const int together = options_.together ? *options_.together : runs_together([&] { run(entry, 1); });
    std::vector<double> seconds = time_runs(options_.warm_up, options_.steps, [&] { run(entry, together); });
    std::ranges::sort(seconds);
    const double median = seconds[seconds.size() / 2];
    return {name_,
            label,
            median / together,
            (seconds.back() - seconds.front()) / median,
            bytes_to_move(compilation_.program, entry, phase),
            std::ssize(steps_of(entry, phase)),
            copy_};
  }

  void run(const PlanEntry& entry, int times) {
    for (int i = 0; i < times; ++i) session_->run(entry.name, {}, std::span<const OutputBuffer>());
    session_->executor().synchronize();
  }

  const OperatorBench& options_;
  std::string name_;
  Compilation compilation_;
  std::unique_ptr<Session> session_;
  double copy_ = 0;
};

// ---- what is said of it

Json to_json(const OperatorBench& o, const OperatorTime& t) {
  return {{"smelt", SMELT_VERSION},
          {"operator", t.name},
          {"entry", t.entry},
          {"target", o.compile.target},
          {"storage", name(o.compile.storage)},
          {"seconds", t.seconds},
          {"spread", std::round(t.spread * 1e3) / 1e3},
          {"bytes", t.bytes},
          {"steps", t.steps},
          {"bytes_per_s", std::llround(t.rate())},
          {"copy_bytes_per_s", std::llround(t.copy)},
          {"of_copy", std::round(t.rate() / t.copy * 1e4) / 1e4}};
}

TextTable to_table(const std::vector<OperatorTime>& times) {
  TextTable table({"operator", "entry", "time", "spread", "must move", "GB/s", "of copy", "steps"});
  for (const OperatorTime& t : times)
    table.add({t.name, t.entry, seconds_text(t.seconds), fmt::format("{:.1f}%", 100 * t.spread),
               bytes_text(t.bytes), fmt::format("{:.1f}", t.rate() / 1e9),
               fmt::format("{:.1f}%", 100 * t.rate() / t.copy), std::to_string(t.steps)});
  return table;
}

bool is_graph(const std::string& model) {
  const std::string extension = std::filesystem::path(model).extension().string();
  return extension == ".ir" || extension == ".smelt";
}

}  // namespace

bool are_graphs(const std::vector<std::string>& models) {
  const auto graphs = std::ranges::count_if(models, is_graph);
  if (graphs == std::ssize(models)) return graphs > 0;
  const auto other = std::ranges::find_if_not(models, is_graph);
  if (models.size() > 1)
    fail("bench: '{}' is not a graph in text form (.ir); give one model, or any number of graphs", *other);
  return false;
}

void bench_operators(const OperatorBench& options) {
  std::vector<OperatorTime> times;
  Json all = Json::array();
  for (const std::string& file : options.graphs)
    for (const OperatorTime& time : Operator(file, options).measure()) {
      times.push_back(time);
      all.push_back(to_json(options, time));
      if (options.json) fmt::print("{}\n", all.back().dump());
      std::fflush(stdout);
    }
  const TextTable table = to_table(times);
  if (!options.json) fmt::print("{}", table.text());
  if (options.output.empty()) return;
  write_file(options.output + ".json", all.dump(1) + "\n");
  write_file(options.output + ".md", table.markdown());
}

}  // namespace smelt::cli
