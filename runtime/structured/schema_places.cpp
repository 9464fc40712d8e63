#include "runtime/structured/schema_places.h"

#include <string_view>

namespace smelt::structured {
namespace {

constexpr std::string_view kPrefix = "JSON Schema: ";
constexpr size_t kLongestPlace = 200;

std::string escaped(const std::string& name) {
  std::string token;
  for (const char c : name) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return token;
}

/// Appends the tokens of the first equal part to `place`, and returns whether there is one.
bool find_part(const SchemaJson& schema, const SchemaJson& document, std::string& place) {
  if (document == schema) return true;
  if (!document.is_structured()) return false;
  const size_t length = place.size();
  for (const auto& [name, part] : document.items()) {
    place += "/" + escaped(name);
    if (find_part(schema, part, place)) return true;
    place.resize(length);
  }
  return false;
}

}  // namespace

std::string place_of(const SchemaJson& schema, const SchemaJson& document) {
  std::string place = "#";
  if (!find_part(schema, document, place)) return "";
  if (place.size() > kLongestPlace) place.replace(kLongestPlace, std::string::npos, "...");
  return place;
}

void rethrow_at_place(const Error& error, const SchemaJson& schema, const SchemaJson& document) {
  if (dynamic_cast<const PlacedError*>(&error)) throw;
  const std::string place = place_of(schema, document);
  if (place.empty()) throw;
  std::string_view message = error.what();
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  throw PlacedError(fmt::format("JSON Schema at {}: {}", place, message), error.status());
}

}  // namespace smelt::structured
