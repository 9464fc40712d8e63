#include "runtime/structured/schema_compiler.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/structured/object_rules.h"
#include "runtime/structured/schema_places.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostRules = 20'000;
constexpr size_t kMostLanguageStepsOfSchema = 20'000'000;
constexpr size_t kMostText = 64u << 20;  // bytes of the texts of all rules' schemas

}  // namespace

RuleId SchemaCompiler::compile(const SchemaJson& document) {
  node_of(document);
  size_t text = 0;
  const RuleId root = pending_.empty() ? grammar_.add_rule("root") : pending_[0].first;
  if (pending_.empty()) grammar_.define(root, node_of(document));
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (i > kMostRules || text > kMostText)
      fail("JSON Schema: the schema is too large; more than {} rules", kMostRules);
    const auto [rule, schema] = pending_[i];
    text += grammar_.rules()[rule].name.size();
    grammar_.define(rule, body_of(schema));
  }
  return root;
}

/// Returns a call of the schema's rule, whose body is built later.
NodeId SchemaCompiler::node_of(const SchemaJson& schema) {
  if (schema == false) return grammar_.never();
  if (schema == true) return json_.value();
  const auto [known, is_new] =
      rules_.try_emplace(schema.dump(-1, ' ', false, SchemaJson::error_handler_t::replace), 0);
  if (is_new) {
    known->second = grammar_.add_rule(known->first.substr(0, 80));
    pending_.emplace_back(known->second, schema);
  }
  return grammar_.rule(known->second);
}

NodeId SchemaCompiler::body_of(const SchemaJson& schema) {
  try {
    std::vector<NodeId> alternatives;
    for (const FlatSchema& flat : flattener_.flatten(schema)) alternatives.push_back(alternative(flat));
    return grammar_.choice(std::move(alternatives));
  } catch (const Error& error) {
    rethrow_at_place(error, schema, flattener_.document());
  }
}

NodeId SchemaCompiler::alternative(const FlatSchema& flat) {
  std::vector<NodeId> parts;
  if (flat.values) {
    for (const SchemaJson& fixed : *flat.values)
      if (satisfies(fixed, flat)) parts.push_back(value(fixed));
    return grammar_.choice(std::move(parts));
  }
  const bool is_free =
      flat.string.is_free() && flat.number.empty() && flat.array.is_free() && flat.object.is_free();
  if (flat.types == kAllTypes && is_free) return json_.value();
  if (flat.types & kNullType) parts.push_back(grammar_.bytes("null"));
  if (flat.types & kBooleanType)
    parts.push_back(grammar_.choice({grammar_.bytes("true"), grammar_.bytes("false")}));
  if (flat.types & (kIntegerType | kNumberType)) parts.push_back(number(flat));
  if (flat.types & kStringType) parts.push_back(string(flat.string));
  if (flat.types & kArrayType) parts.push_back(array(flat.array));
  if (flat.types & kObjectType) parts.push_back(object(flat.object));
  return grammar_.choice(std::move(parts));
}

/// Returns the node of one fixed value. A number like 1.0 may also be written as an integer.
NodeId SchemaCompiler::value(const SchemaJson& value) {
  if (value.is_string()) return json_.literal_string(value.get_ref<const std::string&>());
  if (!value.is_structured()) {
    const auto plain = value.is_number_float() ? plain_decimal(value.dump()) : std::nullopt;
    const NodeId text = grammar_.bytes(value.dump());
    return plain && *plain != value.dump() ? grammar_.choice({text, grammar_.bytes(*plain)}) : text;
  }
  const bool is_object = value.is_object();
  std::vector<NodeId> parts{grammar_.bytes(is_object ? "{" : "["), json_.space()};
  for (const auto& [name, element] : value.items()) {
    if (parts.size() > 2) parts.push_back(json_.comma());
    if (is_object) parts.push_back(json_.literal_string(name)), parts.push_back(json_.colon());
    parts.push_back(this->value(element));
  }
  if (!value.empty()) parts.push_back(json_.space());
  parts.push_back(grammar_.bytes(is_object ? "}" : "]"));
  return grammar_.sequence(std::move(parts));
}

NodeId SchemaCompiler::number(const FlatSchema& flat) {
  const bool integers = !(flat.types & kNumberType) || !flat.number.divisors.empty();
  if (flat.number.empty()) return integers ? json_.integer() : json_.number();
  const Language language = integers ? integers_within(flat.number) : numbers_within(flat.number);
  return language.node(grammar_, [&](const CodePointSet& set) { return grammar_.code_points(set); });
}

NodeId SchemaCompiler::string(const StringLimits& limits) {
  if (limits.is_free()) return json_.string();
  if (limits.least > limits.most) return grammar_.never();
  if (limits.patterns.empty() && limits.formats.empty())
    return json_.string_of_length(limits.least, limits.most);
  return json_.string_in(string_language(limits));
}

/// The elements of the prefix are a chain of states, and the others a repetition after it.
NodeId SchemaCompiler::array(const ArrayLimits& limits) {
  if (limits.is_free()) return json_.array();
  const uint32_t most =
      limits.rest == false ? std::min(limits.most, static_cast<uint32_t>(limits.prefix.size())) : limits.most;
  const auto chain = static_cast<uint32_t>(std::min<size_t>(most, limits.prefix.size()));
  Graph graph;
  graph.states = chain + 1;
  graph.accepts.resize(chain + 1);
  const auto element = [&](size_t i, const SchemaJson& schema) {
    return grammar_.sequence({i == 0 ? grammar_.empty() : json_.comma(), node_of(schema)});
  };
  for (uint32_t i = 0; i < chain; ++i) graph.edges.push_back({i, i + 1, element(i, limits.prefix[i])});
  for (uint32_t i = 0; i <= chain; ++i) graph.accepts[i] = i >= limits.least && i <= most;
  if (most > chain) {
    const uint32_t least = limits.least > chain ? limits.least - chain : 1;
    const uint32_t more = most == kUnbounded ? kUnbounded : most - chain;
    if (least > more) return grammar_.never();
    const NodeId next = element(1, limits.rest);
    NodeId rest = grammar_.repeat(next, least, more);
    if (chain == 0) {
      const uint32_t after = more == kUnbounded ? kUnbounded : more - 1;
      rest = grammar_.sequence({node_of(limits.rest), grammar_.repeat(next, least - 1, after)});
    }
    graph.edges.push_back({chain, graph.states++, rest});
    graph.accepts.push_back(true);
  }
  const NodeId elements = grammar_.graph(std::move(graph));
  const NodeId after = json_.space();
  return grammar_.sequence({grammar_.bytes("["), json_.space(), elements, after, grammar_.bytes("]")});
}

NodeId SchemaCompiler::object(const ObjectLimits& limits) {
  return limits.is_free() ? json_.object() : ObjectRules(*this, limits).node();
}

Grammar json_schema_grammar(const nlohmann::ordered_json& schema, const SchemaOptions& options) {
  const LanguageSteps bound(kMostLanguageStepsOfSchema);
  Grammar grammar;
  grammar.set_root(SchemaCompiler(schema, options, grammar).compile(schema));
  return grammar;
}

Grammar json_value_grammar(JsonLayout layout, bool any_value) {
  Grammar grammar;
  JsonGrammar json(grammar, layout);
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, any_value ? json.value() : json.object());
  grammar.set_root(root);
  return grammar;
}

}  // namespace smelt::structured
