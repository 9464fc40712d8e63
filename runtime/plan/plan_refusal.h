// Common parts of the checks of a plan: the error that refuses a plan, and limits for every plan.
#pragma once

#include <set>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace smelt {

constexpr int64_t kMostBytes = int64_t{1} << 56;

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  fail_with(Status::invalid_file, format, std::forward<Args>(args)...);
}

template <typename Item>
void require_names(const std::vector<Item>& items, std::string_view what) {
  std::set<std::string_view> names;
  for (const Item& item : items)
    if (item.name.empty() || !names.insert(item.name).second)
      refuse("{} '{}': expected a name of its own", what, item.name);
}

}  // namespace smelt
