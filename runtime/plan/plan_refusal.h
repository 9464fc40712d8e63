// Helpers for the checks of a plan: the error for an invalid plan, a limit on sizes, and a check of names.
#pragma once

#include <set>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Largest size of a buffer, and of all states together, in bytes. Sums of a few such sizes fit in 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 56;

/// Throws Error (invalid_file) with a formatted text.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  fail_with(Status::invalid_file, format, std::forward<Args>(args)...);
}

/// Checks that the names of the items are not empty and that no two are equal. Throws Error (invalid_file)
/// that begins with `what`.
template <typename Item>
void require_names(const std::vector<Item>& items, std::string_view what) {
  std::set<std::string_view> names;
  for (const Item& item : items)
    if (item.name.empty() || !names.insert(item.name).second)
      refuse("{} '{}': expected a name of its own", what, item.name);
}

}  // namespace smelt
