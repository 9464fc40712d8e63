#include "compiler/cli/shared/anomaly.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <set>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

/// A tensor of the graph and where the plan keeps it.
struct Place {
  std::string node, source;
  Type type;
  Layout layout;
};
using Places = std::map<std::string, std::vector<Place>>;  // by entry

std::vector<Place> places_of(const Graph& graph) {
  std::vector<Place> places;
  for (const auto& node : graph.nodes())
    for (const auto& value : node->results())
      if (value->layout && value->layout->buffer >= 0 && value->dtype() == DType::f32)
        places.push_back({node->describe(), node->source, value->type, *value->layout});
  return places;
}

/// Calls visit(index, value) for every element until it returns false.
class Elements {
 public:
  Elements(const Place& place, const SymbolValues& symbols, const std::byte* base)
      : base_(reinterpret_cast<const float*>(base) + place.layout.offset.evaluate(symbols)) {
    for (const Dim& dim : place.type.shape) shape_.push_back(dim.evaluate(symbols));
    for (const Dim& stride : place.layout.strides) strides_.push_back(stride.evaluate(symbols));
  }

  /// The index of the first element that is not finite.
  std::optional<std::vector<int64_t>> first_bad() const {
    std::vector<int64_t> index(shape_.size(), 0);
    for (const int64_t extent : shape_)
      if (extent == 0) return {};
    do {
      if (!std::isfinite(at(index))) return index;
    } while (advance(index));
    return {};
  }
  float at(const std::vector<int64_t>& index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides_[i];
    return base_[offset];
  }

 private:
  bool advance(std::vector<int64_t>& index) const {
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < shape_[i]) return true;
      index[i] = 0;
    }
    return false;
  }
  const float* base_;
  std::vector<int64_t> shape_, strides_;
};

/// A part of a flat buffer that no step has reached yet holds what others have left there.
bool is_there(const Buffer& buffer, const Layout& layout, int step) {
  const auto offset = layout.offset.constant();
  if (buffer.parts.empty() || !offset) return true;
  const int64_t byte = *offset * size_of(buffer.dtype);
  const BufferPart& part = *std::prev(std::ranges::upper_bound(buffer.parts, byte, {}, &BufferPart::begin));
  return part.first_step <= step && step <= part.last_step;
}

class Detector {
 public:
  Detector(std::shared_ptr<const Plan> plan, const Module& fused) : plan_(std::move(plan)) {
    for (const auto& graph : fused.graphs) places_[graph->name] = places_of(*graph);
  }

  void operator()(const StepDone& done) const {
    const Step& step = done.entry.steps[static_cast<size_t>(done.step)];
    const std::set<std::string> sources(step.sources.begin(), step.sources.end());
    const std::set<int> written(step.writes.begin(), step.writes.end());
    const auto places = places_.find(done.entry.name);
    if (places == places_.end()) return;
    for (const Place& place : places->second)
      if (written.contains(place.layout.buffer) && (sources.contains(place.source) || sources.empty()) &&
          is_there(plan_->buffers[static_cast<size_t>(place.layout.buffer)], place.layout, done.step))
        check(place, done, step);
  }

 private:
  void check(const Place& place, const StepDone& done, const Step& step) const {
    const std::byte* base = done.buffers[static_cast<size_t>(place.layout.buffer)];
    if (!base) return;
    const Elements elements(place, done.symbols, base);
    if (const auto index = elements.first_bad())
      fail_with(
          Status::numeric,
          "the first value that is not finite: {}[{}] = {}, written by step {} of the entry {} ({}; {})",
          place.node, fmt::join(*index, ","), elements.at(*index), done.step, done.entry.name,
          step.phase.empty() ? "no phase" : step.phase, fmt::join(step.sources, ", "));
  }

  std::shared_ptr<const Plan> plan_;
  Places places_;
};

}  // namespace

std::function<void(const StepDone&)> anomaly_detector(std::shared_ptr<const Plan> plan, const Module& fused) {
  return Detector(std::move(plan), fused);
}

}  // namespace smelt::cli
