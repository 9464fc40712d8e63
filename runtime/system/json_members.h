// Members of JSON objects whose order is kept.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

namespace smelt {

/// Removes a member of an object, and returns its value; null if the object has no such member.
inline nlohmann::ordered_json take_member(nlohmann::ordered_json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  nlohmann::ordered_json value = std::move(*found);
  object.erase(found);
  return value;
}

}  // namespace smelt
