#include "runtime/engine/serving/adapter_store.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Returns the rows of `values` [rows,width], each padded with zeros to `padded` elements.
std::vector<float> padded_rows(const std::vector<float>& values, int64_t width, int64_t padded) {
  const int64_t rows = std::ssize(values) / width;
  std::vector<float> result(static_cast<size_t>(rows * padded));
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(values.begin() + row * width, width, result.begin() + row * padded);
  return result;
}

}  // namespace

AdapterStore::AdapterStore(AdapterInterface interface)
    : interface_(std::move(interface)), slots_(static_cast<size_t>(interface_.slots)) {}

std::vector<std::string> AdapterStore::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, adapter] : by_name_) names.push_back(name);
  return names;
}

AdapterStoreCounts AdapterStore::counts() const {
  const std::lock_guard lock(mutex_);
  const auto free = std::ranges::count_if(slots_, [](const auto& slot) { return slot.expired(); });
  return {.slots = slots_.size(),
          .used_slots = slots_.size() - static_cast<size_t>(free),
          .loaded = by_name_.size(),
          .loads = last_number_,
          .drops = drops_};
}

std::shared_ptr<const ServedAdapter> AdapterStore::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::shared_ptr<const ServedAdapter> AdapterStore::add(std::string name) {
  const std::lock_guard lock(mutex_);
  if (name.empty()) fail("adapter: its name is empty; expected one by which requests choose it");
  if (by_name_.contains(name))
    fail("adapter '{}' is loaded already: unload it first, or choose a name", name);
  const auto free = std::ranges::find_if(slots_, [](const auto& slot) { return slot.expired(); });
  if (free == slots_.end())
    fail_with(
        Status::unavailable,
        "adapter '{}': all {} slots are taken, {} of them by adapters that are loaded and the others by "
        "requests that still run; unload one, or start with more --adapters",
        name, slots_.size(), by_name_.size());
  auto adapter = std::make_shared<const ServedAdapter>(
      ServedAdapter{name, static_cast<int32_t>(free - slots_.begin()), ++last_number_});
  *free = adapter;
  by_name_.emplace(std::move(name), adapter);
  return adapter;
}

bool AdapterStore::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return false;
  by_name_.erase(found), ++drops_;
  return true;
}

/// Matrices of smaller ranks, and of linear maps that the adapter does not change, are filled with zeros.
void AdapterStore::write(Session& session, const ServedAdapter& adapter,
                         const AdapterWeights& weights) const {
  const int64_t rank = interface_.rank;
  for (const AdaptedLinear& linear : interface_.linears) {
    const auto given = std::ranges::find(weights.linears, linear.module, &AdapterMatrices::module);
    const int64_t in = rank * linear.in, out = rank * linear.out;
    std::vector<float> a, b;
    if (given != weights.linears.end()) a = given->a, b = padded_rows(given->b, given->rank, rank);
    a.resize(static_cast<size_t>(in)), b.resize(static_cast<size_t>(out));
    session.write_elements(adapter_state_a(linear.module), adapter.slot * in, a);
    session.write_elements(adapter_state_b(linear.module), adapter.slot * out, b);
  }
}

}  // namespace smelt
