#include "ir/analysis/step_refs.h"

#include <algorithm>

namespace smelt {

void replace_buffer(Step& step, int from, int to) {
  const auto replace = [from, to](int& buffer) {
    if (buffer == from) buffer = to;
  };
  for (auto* list : {&step.reads, &step.writes}) {
    for (int& buffer : *list) replace(buffer);
    std::ranges::sort(*list);
    list->erase(std::ranges::unique(*list).begin(), list->end());
  }
  for (auto& [written, read] : step.may_alias) replace(written), replace(read);
  std::erase_if(step.may_alias, [](const auto& pair) { return pair.first == pair.second; });
  for_each_ref(step, [&](BufferRef& ref) { replace(ref.buffer); });
}

}  // namespace smelt
