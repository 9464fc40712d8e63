#include "compiler/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/cli/shared/program_text.h"
#include "compiler/driver/step_cost.h"
#include "compiler/report/buffer_lives.h"
#include "compiler/report/memory_peak.h"
#include "compiler/report/source_layer.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

Json numbers_of(const std::vector<std::string>& names, TextPool& texts) {
  Json numbers = Json::array();
  for (const std::string& name : names) numbers.push_back(texts.add(name));
  return numbers;
}

/// Rounds to six digits.
double rounded(double seconds) { return std::stod(fmt::format("{:.6g}", seconds)); }

Json step_data(const ReportedPlan& plan, const Step& step, TextPool& texts) {
  const StepCost cost = step_cost(plan.program, step);
  const auto* launch = std::get_if<KernelStep>(&step.what);
  return {{"name", texts.add(cli::step_name(plan.program, step))},
          {"kind", kind_name(step)},
          {"phase", step.phase},
          {"sources", numbers_of(step.sources, texts)},
          {"layer", texts.add(layer_of(step.sources))},
          {"bytes", cost.bytes},
          {"flops", cost.flops},
          {"memory_bound", cost.memory_bound()},
          {"estimated", rounded(step_seconds(plan.program, step, rates_of(plan.rates_of)))},
          {"products", has_products(plan.program, step)},
          {"kernel", launch ? launch->kernel : -1},
          {"reads", step.reads},
          {"writes", step.writes},
          {"recomputed", step.recomputed},
          {"first_way", is_first_way(step)}};
}

/// Returns the choices between variants of steps: {"alternatives": [name], "rule"?}.
Json choices_data(const PlanEntry& entry) {
  Json choices = Json::array();
  for (const Choice& choice : entry.choices) {
    Json row = {{"alternatives", choice.alternatives}};
    if (choice.last_where)
      row["rule"] = fmt::format("{} < {}", choice.last_where->value.str(), choice.last_where->below);
    choices.push_back(std::move(row));
  }
  return choices;
}

Json steps_data(const ReportedPlan& plan, const PlanEntry& entry, const StepTimes& times, TextPool& texts) {
  Json steps = Json::array();
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    steps.push_back(step_data(plan, step, texts));
    if (step.choice >= 0)
      steps.back()["choice"] = step.choice, steps.back()["alternative"] = step.alternative;
    const auto measured = times.find({entry.name, static_cast<int>(i)});
    if (measured != times.end()) steps.back()["measured"] = rounded(measured->second);
  }
  return steps;
}

Json buffers_data(const Program& program, const PlanEntry& entry, const std::vector<BufferLife>& lives,
                  TextPool& texts) {
  Json buffers = Json::array();
  auto life = lives.begin();
  for (const int number : buffers_of(entry)) {
    const Buffer& buffer = program.buffers[static_cast<size_t>(number)];
    Json row = {{"id", number},
                {"name", texts.add(buffer.name)},
                {"role", name(buffer.role)},
                {"bytes", bytes_at_bounds(program.symbols, buffer.elements, buffer.dtype)}};
    if (life != lives.end() && life->buffer == number) {
      for (const LiveRange& range : life->ranges)
        row["lives"].push_back({range.begin, range.end, range.first, range.last});
      ++life;
    }
    buffers.push_back(std::move(row));
  }
  return buffers;
}

Json groups_data(const MemoryPeak& peak, TextPool& texts) {
  Json groups = Json::array();
  for (const PeakGroup& group : peak.groups)
    groups.push_back({{"role", name(group.role)},
                      {"source", texts.add(group.source)},
                      {"buffers", group.buffers},
                      {"bytes", group.bytes}});
  return groups;
}

Json memory_data(const Program& program, const PlanEntry& entry, const std::vector<BufferLife>& lives,
                 const std::vector<int64_t>& used, TextPool& texts) {
  int64_t without_reuse = 0;
  for (const BufferLife& life : lives)
    without_reuse += program.buffers[static_cast<size_t>(life.buffer)].bytes;
  const MemoryPeak peak = memory_peak(program.buffers, entry);
  return {{"arena", entry.arena_bytes}, {"without_reuse", without_reuse},   {"least", peak.bytes},
          {"peak_step", peak.step},     {"peak", groups_data(peak, texts)}, {"used", used}};
}

Json summary_data(const ReportedPlan& plan, const std::string& entry) {
  const auto row = std::ranges::find(plan.summary, entry, &EntrySummary::entry);
  if (row == plan.summary.end()) return nullptr;
  Json data = {{"launches", row->launches_after},
               {"bytes", row->bytes_after},
               {"gemms", row->gemms},
               {"gemm_bytes", row->gemm_bytes},
               {"collectives", row->collectives},
               {"collective_bytes", row->collective_bytes}};
  if (plan.fused) data["launches_before"] = row->launches_before, data["bytes_before"] = row->bytes_before;
  return data;
}

/// Kernels and the borders between them as fuse saw them. `places`: of each kernel its node in `links`.
void add_fusions(const FusionReport& report, const std::vector<int>& places,
                 const std::vector<size_t>& node_places, Json& data, const std::string& graph,
                 TextPool& texts) {
  data["kernels"] = Json::array(), data["borders"] = Json::array();
  for (const FusionReport::Kernel& kernel : report.kernels) {
    if (kernel.graph != graph) continue;
    const int place = places[data["kernels"].size()];
    data["kernels"].push_back(
        {{"number", kernel.number},
         {"phase", name(kernel.phase)},
         {"source", texts.add(kernel.source)},
         {"layer", texts.add(layer_of(source_parts(kernel.source)))},
         {"operations", kernel.operations.size()},
         {"read", kernel.bytes_read},
         {"written", kernel.bytes_written},
         {"node", place < 0 ? -1 : static_cast<int64_t>(node_places[static_cast<size_t>(place)])}});
  }
  for (const FusionReport::Border& border : report.borders)
    if (border.graph == graph)
      data["borders"].push_back({{"from", border.producer},
                                 {"into", border.consumer},
                                 {"other", texts.add(border.other)},
                                 {"siblings", border.siblings},
                                 {"reason", name(border.reason)},
                                 {"detail", texts.add(border.detail)},
                                 {"bytes", border.bytes}});
}

/// The places of nodes that run, among all nodes of the graph.
std::vector<size_t> running_places(const Graph& graph) {
  std::vector<size_t> places;
  size_t place = 0;
  for (const auto& node : graph.nodes()) {
    if (runs(*node)) places.push_back(place);
    ++place;
  }
  return places;
}

void add_graph(const ReportedPlan& plan, const PlanEntry& entry, Json& data, TextPool& texts) {
  const Graph* graph = plan.fused ? plan.fused->find_graph(entry.name) : nullptr;
  if (graph == nullptr) return;
  const std::vector<NodeSteps> links = link_steps(*graph, entry);
  data["graph"] = graph_data(*graph, links, texts);
  add_fusions(plan.fusions, link_kernels(plan.fusions, links, entry.name), running_places(*graph), data,
              entry.name, texts);
}

}  // namespace

Json entry_data(const ReportedPlan& plan, const PlanEntry& entry, const StepTimes& times, TextPool& texts) {
  const std::vector<BufferLife> lives = buffer_lives(plan.program.buffers, entry);
  Json data = {
      {"name", entry.name},
      {"summary", summary_data(plan, entry.name)},
      {"steps", steps_data(plan, entry, times, texts)},
      {"choices", choices_data(entry)},
      {"memory", memory_data(plan.program, entry, lives, used_bytes(lives, entry.steps.size()), texts)},
      {"buffers", buffers_data(plan.program, entry, lives, texts)}};
  add_graph(plan, entry, data, texts);
  return data;
}

}  // namespace smelt
