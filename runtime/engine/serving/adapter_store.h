// Low-rank adapters (LoRA) that a continuous batch (continuous_batch.h) serves next to the model itself. They
// are loaded into the slots of a plan (runtime/plan/adapter_interface.h) and dropped while requests run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/adapter_interface.h"
#include "runtime/session/session.h"

namespace smelt {

/// An adapter in a slot. Requests hold the object, so that the slot stays as it is until the last of them has
/// ended. `number` is different for all adapters of a store, and is at least 1.
struct ServedAdapter {
  std::string name;
  int32_t slot = 0;
  uint64_t number = 0;
};

/// Present numbers of a store's slots and adapters, and totals since it was created.
struct AdapterStoreCounts {
  size_t slots = 0;
  size_t used_slots = 0;  // of adapters that are loaded, or that requests still hold
  size_t loaded = 0;      // adapters that requests can find
  uint64_t loads = 0, drops = 0;
};

/// Names and slots of adapters. Thread-safe, but write() must not be called while the session runs.
class AdapterStore {
 public:
  explicit AdapterStore(AdapterInterface interface);

  const AdapterInterface& interface() const { return interface_; }
  /// Returns the names of the adapters, sorted.
  std::vector<std::string> names() const;
  AdapterStoreCounts counts() const;
  /// Returns the adapter of this name; null if there is none.
  std::shared_ptr<const ServedAdapter> find(std::string_view name) const;
  /// Gives an adapter a free slot, which write() must fill before a request uses it. Throws Error, with the
  /// status `unavailable` if all slots are taken, if the name is taken or empty.
  std::shared_ptr<const ServedAdapter> add(std::string name);
  /// Drops an adapter: requests can no longer find it. Its slot becomes free when the last request that holds
  /// the adapter has ended. Returns false if there is no adapter of this name.
  bool remove(std::string_view name);
  /// Writes matrices to the slot of an adapter. Requires: they fit interface().
  void write(Session& session, const ServedAdapter& adapter, const AdapterWeights& weights) const;

 private:
  const AdapterInterface interface_;
  mutable std::mutex mutex_;  // of the following members
  std::map<std::string, std::shared_ptr<const ServedAdapter>, std::less<>> by_name_;
  std::vector<std::weak_ptr<const ServedAdapter>> slots_;  // the last adapter of each slot
  uint64_t last_number_ = 0, drops_ = 0;
};

}  // namespace smelt
