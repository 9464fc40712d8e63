// Counts by adapter for GET /metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "runtime/engine/serving/adapter_store.h"

namespace smelt::server {

/// Requests and new tokens by the name of their adapter since the server was started. The first kMostNames
/// names of at most kLongestName bytes have counts of their own; all others have a sum, because clients
/// choose names. Counts remain when an adapter is dropped. Not thread-safe.
class AdapterCounts {
 public:
  static constexpr size_t kMostNames = 100, kLongestName = 128;

  void add_request(const std::string& name) { ++of(name).requests; }
  void add_tokens(const std::string& name, size_t tokens) { of(name).tokens += tokens; }
  /// Returns the metrics in the text format of Prometheus. The label `adapter` is the name; it is empty for
  /// the sum of other adapters.
  std::string text() const;

 private:
  struct Counts {
    uint64_t requests = 0, tokens = 0;
  };
  Counts& of(const std::string& name);

  std::map<std::string, Counts> by_name_;
  Counts others_;
};

/// Returns the metrics of a store in the same format.
std::string text_of(const AdapterStoreCounts& counts);

}  // namespace smelt::server
