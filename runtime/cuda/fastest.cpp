#include "runtime/cuda/algorithm_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace smelt::cuda {
namespace {

/// Least duration of a graph for which a clock can compare two variants, and the most runs per graph.
constexpr double kGraphSeconds = 3e-4, kShortestSeconds = 1e-6;
constexpr int kMostInGraph = 64, kGraphRounds = 5;

double seconds_of(const Device& device, Stream stream, GraphExec graph) {
  const Driver& d = driver();
  const EventOwner begin = make_event(device, true), end = make_event(device, true);
  check(d.EventRecord(begin.get(), stream), "timing steps");
  check(d.GraphLaunch(graph, stream), "timing steps");
  check(d.EventRecord(end.get(), stream), "timing steps");
  check(d.EventSynchronize(end.get()), "timing steps");
  return seconds_between(begin.get(), end.get());
}

}  // namespace

size_t fastest(const Device& device, Stream stream, size_t ways,
               const std::function<GraphOwner(size_t way, int times)>& graph_of) {
  std::vector<GraphOwner> graphs;
  std::vector<double> least(ways, std::numeric_limits<double>::infinity());
  const auto round = [&] {
    for (size_t way = 0; way < ways; ++way)
      least[way] = std::min(least[way], seconds_of(device, stream, graphs[way].get()));
  };
  const auto make_graphs = [&](int times) {
    graphs.clear();
    for (size_t way = 0; way < ways; ++way) graphs.push_back(graph_of(way, times));
    round();  // the first launch of a graph also sends it to the device
    std::ranges::fill(least, std::numeric_limits<double>::infinity());
  };
  make_graphs(1), round();
  const double single = std::max(*std::ranges::min_element(least), kShortestSeconds);
  const int times = std::clamp(static_cast<int>(kGraphSeconds / single), 1, kMostInGraph);
  if (times > 1) make_graphs(times);
  for (int i = 0; i < kGraphRounds; ++i) round();
  return static_cast<size_t>(std::ranges::min_element(least) - least.begin());
}

}  // namespace smelt::cuda
