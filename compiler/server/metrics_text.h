// GET /metrics in the text format of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/engine/serving/continuous_batch.h"

namespace smelt::server {

/// `responses`: how many had each HTTP status.
std::string metrics_text(const ContinuousBatchCounts& counts, const std::map<int, uint64_t>& responses);

}  // namespace smelt::server
