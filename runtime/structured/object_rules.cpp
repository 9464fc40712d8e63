#include "runtime/structured/object_rules.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostPatterns = 4;  // the names that match are divided by subsets of the patterns
constexpr size_t kMostGraphStates = 50'000;

}  // namespace

ObjectRules::ObjectRules(SchemaCompiler& compiler, const ObjectLimits& limits)
    : compiler_(compiler), grammar_(compiler.grammar_), json_(compiler.json_), limits_(limits) {
  for (const SchemaJson& schema : limits.names) names_ = names_ & compiler.flattener_.strings_of(schema);
  for (const auto& [pattern, schema] : limits.patterns)
    patterns_.push_back(pattern_language(pattern, "patternProperties"));
  if (patterns_.size() > kMostPatterns)
    fail("JSON Schema: 'patternProperties' has {} patterns, expected at most {}", patterns_.size(),
         kMostPatterns);
}

bool ObjectRules::is_required(const std::string& name) const {
  return std::find(limits_.required.begin(), limits_.required.end(), name) != limits_.required.end();
}

/// Returns the schema of a property: its own one, and those of the patterns that its name matches.
SchemaJson ObjectRules::schema_of(const std::string& name, const SchemaJson& own) const {
  SchemaJson schema = own;
  for (size_t i = 0; i < patterns_.size(); ++i)
    if (patterns_[i].contains(name)) schema = both(schema, limits_.patterns[i].second);
  return names_.contains(name) ? schema : SchemaJson(false);
}

void ObjectRules::add_properties() {
  const auto add = [&](const std::string& name, const SchemaJson& own) {
    const NodeId value = compiler_.node_of(schema_of(name, own));
    properties_.push_back({json_.literal_string(name), value, is_required(name)});
  };
  for (const auto& [name, own] : limits_.properties) add(name, own);
  for (const std::string& name : limits_.required) {
    const bool is_known = std::any_of(limits_.properties.begin(), limits_.properties.end(),
                                      [&](const auto& property) { return property.first == name; });
    const bool has_pattern = std::any_of(patterns_.begin(), patterns_.end(),
                                         [&](const Language& pattern) { return pattern.contains(name); });
    if (!is_known) add(name, has_pattern ? SchemaJson(true) : limits_.additional);
  }
}

void ObjectRules::add_names(const Language& names, const SchemaJson& schema) {
  if (schema != false && !names.empty())
    others_.emplace_back(json_.string_in(names), compiler_.node_of(schema));
}

/// Divides the names that are no properties by the patterns that they match.
void ObjectRules::add_other_names() {
  if (limits_.patterns.empty() && limits_.additional == false) return;
  if (properties_.empty() && patterns_.empty() && limits_.names.empty())
    return others_.emplace_back(json_.string(), compiler_.node_of(limits_.additional)), void();
  std::vector<SchemaJson> known;
  for (const auto& [name, schema] : limits_.properties) known.emplace_back(name);
  for (const std::string& name : limits_.required) known.emplace_back(name);
  const Language free = names_ & string_language({}, known).complement();
  for (size_t subset = 0; subset < size_t{1} << patterns_.size(); ++subset) {
    Language names = free;
    SchemaJson schema = subset == 0 ? limits_.additional : SchemaJson(true);
    for (size_t i = 0; i < patterns_.size(); ++i) {
      const bool matches = (subset >> i & 1) != 0;
      names = names & (matches ? patterns_[i] : patterns_[i].complement());
      if (matches) schema = both(schema, limits_.patterns[i].second);
    }
    add_names(names, schema);
  }
}

/// Names that are no properties can be repeated, so they count as one member for the least number.
void ObjectRules::check_counts() {
  const auto required =
      std::count_if(properties_.begin(), properties_.end(), [](const Property& p) { return p.is_required; });
  if (!others_.empty() && limits_.least > 1 && limits_.least > static_cast<uint64_t>(required))
    fail(
        "JSON Schema: 'minProperties' of {} is not supported together with names that 'properties' does not "
        "have",
        limits_.least);
  const uint32_t least = limits_.least > static_cast<uint64_t>(required) ? limits_.least : 1;
  const uint32_t bound = others_.empty() ? static_cast<uint32_t>(properties_.size()) : kUnbounded;
  counts_ = 1 + (limits_.most < bound ? std::max(limits_.most, least) : least);
  if ((properties_.size() + 1) * counts_ > kMostGraphStates)
    fail(
        "JSON Schema: 'minProperties' and 'maxProperties' with {} properties are not supported; expected "
        "fewer",
        properties_.size());
}

NodeId ObjectRules::member(NodeId name, NodeId value, bool is_first) {
  return grammar_.sequence({is_first ? grammar_.empty() : json_.comma(), name, json_.colon(), value});
}

void ObjectRules::add_edges(uint32_t property, uint32_t count) {
  const uint32_t from = state(property, count), more = std::min(count + 1, counts_ - 1);
  const bool can_add = count < limits_.most;
  if (property == properties_.size()) {
    for (const auto& [name, value] : others_)
      if (can_add) graph_.edges.push_back({from, state(property, more), member(name, value, count == 0)});
    graph_.accepts[from] = count >= std::min(limits_.least, counts_ - 1) && count <= limits_.most;
    return;
  }
  const Property& own = properties_[property];
  if (can_add)
    graph_.edges.push_back({from, state(property + 1, more), member(own.name, own.value, count == 0)});
  if (!own.is_required) graph_.edges.push_back({from, state(property + 1, count), grammar_.empty()});
}

NodeId ObjectRules::node() {
  add_properties();
  add_other_names();
  check_counts();
  const auto count = static_cast<uint32_t>(properties_.size());
  graph_.states = (count + 1) * counts_;
  graph_.accepts.resize(graph_.states);
  for (uint32_t property = 0; property <= count; ++property)
    for (uint32_t c = 0; c < counts_; ++c) add_edges(property, c);
  const NodeId members = grammar_.graph(std::move(graph_));
  return grammar_.sequence({grammar_.bytes("{"), json_.space(), members, json_.space(), grammar_.bytes("}")});
}

}  // namespace smelt::structured
