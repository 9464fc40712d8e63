#include "compiler/server/adapter_counts.h"

#include <fmt/format.h>

#include "compiler/server/metric_lines.h"

namespace smelt::server {

AdapterCounts::Counts& AdapterCounts::of(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  return by_name_.size() < kMostNames && name.size() <= kLongestName ? by_name_[name] : others_;
}

std::string AdapterCounts::text() const {
  std::string requests =
      metric_head("adapter_requests_total", "counter", "Requests of one choice, by adapter.");
  std::string tokens = metric_head("adapter_new_tokens_total", "counter", "Tokens of answers, by adapter.");
  const auto add = [&](const std::string& name, const Counts& counts) {
    const std::string label = label_value(name);
    requests += fmt::format("smelt_adapter_requests_total{{adapter=\"{}\"}} {}\n", label, counts.requests);
    tokens += fmt::format("smelt_adapter_new_tokens_total{{adapter=\"{}\"}} {}\n", label, counts.tokens);
  };
  for (const auto& [name, counts] : by_name_) add(name, counts);
  if (others_.requests > 0) add("", others_);
  return requests + tokens;
}

std::string text_of(const AdapterStoreCounts& counts) {
  return metric("adapter_slots", "gauge", "Slots for adapters.", counts.slots) +
         metric("adapter_slots_used", "gauge",
                "Slots of adapters that are loaded or that requests still have.", counts.used_slots) +
         metric("adapters_loaded", "gauge", "Adapters that requests can choose.", counts.loaded) +
         metric("adapter_loads_total", "counter", "Adapters that were loaded.", counts.loads) +
         metric("adapter_drops_total", "counter", "Adapters that were dropped.", counts.drops);
}

}  // namespace smelt::server
