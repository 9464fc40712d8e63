#include "compiler/server/metrics_text.h"

#include <fmt/format.h>

#include "compiler/server/metric_lines.h"

namespace smelt::server {
namespace {

std::string ends(const ContinuousBatchCounts& counts) {
  std::string text =
      metric_head("requests_total", "counter", "Requests of one choice that have ended, by how.");
  for (const auto& [how, value] :
       {std::pair("finished", counts.ended), std::pair("cancelled", counts.cancelled),
        std::pair("failed", counts.failed)})
    text += fmt::format("smelt_requests_total{{end=\"{}\"}} {}\n", how, value);
  return text;
}

std::string pages_text(const PageCounts& pages) {
  return metric("cache_pages", "gauge", "Pages of the caches; 0: they have none.", pages.total) +
         metric("cache_pages_used", "gauge", "Pages that requests have.", pages.used) +
         metric("cache_pages_shared", "gauge", "Of these, pages that several requests have.", pages.shared) +
         metric("cache_pages_kept", "gauge", "Pages of ended requests that prompts may find.", pages.kept) +
         metric("prefix_pages_found_total", "counter", "Pages of prompts that were found and not read again.",
                pages.found);
}

}  // namespace

std::string metrics_text(const ContinuousBatchCounts& counts, const RequestTimes& times,
                         const AdapterMetrics& adapters, const std::map<int, uint64_t>& responses) {
  std::string text =
      metric("slots", "gauge", "Requests that may run together; a beam search has a slot per beam.",
             counts.slots) +
      metric("slots_used", "gauge", "Slots of running requests.", counts.used_slots) +
      metric("requests_running", "gauge", "Requests that have a slot.", counts.running) +
      metric("requests_waiting", "gauge", "Requests that wait for a slot.", counts.waiting) +
      metric("steps_total", "counter", "Steps of the batch.", counts.steps) +
      metric("prompt_tokens_total", "counter", "Tokens of prompts that were read.", counts.prompt_tokens) +
      metric("padding_tokens_total", "counter", "Tokens of padding that were read with whole texts.",
             counts.padding_tokens) +
      metric("new_tokens_total", "counter", "Tokens that were chosen.", counts.new_tokens) +
      metric("plan_tokens_total", "counter", "Of these, tokens that the plan has chosen, not the host.",
             counts.plan_tokens) +
      metric("draft_tokens_total", "counter", "Tokens of drafts that were read.", counts.draft_tokens) +
      metric("kept_draft_tokens_total", "counter", "Of these, tokens that were also chosen.",
             counts.kept_draft_tokens) +
      metric("weights_version", "gauge", "Version of the weights that the batch runs.",
             counts.weights_version) +
      metric("weight_updates_total", "counter", "Times that new weights were taken.", counts.weight_updates) +
      ends(counts) +
      metric("cache_bytes", "gauge", "Planned memory of the caches.",
             static_cast<uint64_t>(counts.cache_bytes)) +
      pages_text(counts.pages) + text_of(adapters.store) + adapters.requests.text() + times.text();
  text += metric_head("http_responses_total", "counter", "HTTP responses, by status.");
  for (const auto& [status, count] : responses)
    text += fmt::format("smelt_http_responses_total{{status=\"{}\"}} {}\n", status, count);
  return text;
}

}  // namespace smelt::server
