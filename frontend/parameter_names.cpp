#include "frontend/parameter_names.h"

namespace smelt {
namespace {

/// TensorFlow's names of a norm's parameters, which files of 2019 still have: transformers reads them, too.
void add_old_names(std::vector<std::string>& names) {
  constexpr std::pair<std::string_view, std::string_view> kOld[] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                                                    {"LayerNorm.bias", "LayerNorm.beta"}};
  const size_t count = names.size();
  for (size_t i = 0; i < count; ++i)
    for (const auto& [now, old] : kOld)
      if (names[i].ends_with(now))
        names.push_back(names[i].substr(0, names[i].size() - now.size()) + std::string(old));
}

}  // namespace

const NameRow* ParameterNames::find(std::string_view role) const {
  if (family_)
    for (const NameRow& row : family_->names)
      if (row.role == role) return &row;
  return nullptr;
}

std::string ParameterNames::source(const Place& place) const {
  const NameRow* row = find(place.role);
  return with_number(row ? row->name : std::string_view(place.role), place.block);
}

ParameterName ParameterNames::parameter(const Place& place, std::string_view kind) const {
  const std::string role = place.role + "." + std::string(kind);
  const NameRow* row = find(role);
  std::string name = with_number(row ? row->name : std::string_view(), place.block);
  if (!row) {
    row = find(place.role);
    name = source(place) + "." + std::string(kind);
  }
  if (!row || row->flags & NameRow::bare) {
    ParameterName bare{name, {name}, row && row->flags & NameRow::transposed && kind == "weight"};
    if (row) add_old_names(bare.checkpoint_names);
    return bare;
  }
  ParameterName result{"", {}, (row->flags & NameRow::transposed) != 0 && kind == "weight"};
  for (std::string_view prefix : family_->prefixes)
    result.checkpoint_names.push_back(std::string(prefix) + name);
  result.name = result.checkpoint_names.front();
  add_old_names(result.checkpoint_names);
  return result;
}

}  // namespace smelt
