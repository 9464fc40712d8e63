// Text of the reply to GET /metrics, in the exposition format of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/server/adapter_counts.h"
#include "compiler/server/request_times.h"
#include "runtime/engine/serving/request_batch.h"

namespace smelt::server {

/// Counts of adapters. By default there are none.
struct AdapterMetrics {
  AdapterStoreCounts store = {};
  AdapterCounts requests = {};
};

/// Returns all metrics. `responses`: the number of HTTP responses by status.
std::string metrics_text(const ContinuousBatchCounts& counts, const RequestTimes& times,
                         const AdapterMetrics& adapters, const std::map<int, uint64_t>& responses);

}  // namespace smelt::server
