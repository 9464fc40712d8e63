#include "runtime/templates/registry.h"

#include <algorithm>

#include "runtime/templates/filter_tables.h"

namespace smelt::templates {

const Filter* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    const auto found = std::ranges::find(table, name, &Filter::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

bool omitted_filter(std::string_view name) {
  static constexpr std::string_view kOmitted[] = {"pprint", "random",   "striptags",
                                                  "urlize", "wordwrap", "xmlattr"};
  return std::ranges::find(kOmitted, name) != std::end(kOmitted);
}

}  // namespace smelt::templates
