#include "frontend/parameter_names.h"

namespace smelt {

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
  if (!row || row->flags & NameRow::bare)
    return {name, {name}, row && row->flags & NameRow::transposed && kind == "weight"};
  ParameterName result{"", {}, (row->flags & NameRow::transposed) != 0 && kind == "weight"};
  for (std::string_view prefix : family_->prefixes)
    result.checkpoint_names.push_back(std::string(prefix) + name);
  result.name = result.checkpoint_names.front();
  return result;
}

}  // namespace smelt
