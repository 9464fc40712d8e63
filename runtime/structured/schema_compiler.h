// Translation of a JSON Schema to the rules of a grammar.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/structured/json_grammar.h"
#include "runtime/structured/schema_flattener.h"

namespace smelt::structured {

/// Translates schemas to rules, one per schema. Equal schemas share a rule, so that the translation of a
/// recursive schema ends.
class SchemaCompiler {
 public:
  SchemaCompiler(const SchemaJson& document, const SchemaOptions& options, Grammar& grammar)
      : flattener_(document, options), grammar_(grammar), json_(grammar, options.layout) {}

  /// Returns the rule of the document, and defines all rules that it uses.
  RuleId compile(const SchemaJson& document);

 private:
  NodeId node_of(const SchemaJson& schema);
  NodeId body_of(const SchemaJson& schema);
  NodeId alternative(const FlatSchema& flat);
  NodeId value(const SchemaJson& value);
  NodeId number(const FlatSchema& flat);
  NodeId string(const StringLimits& limits);
  NodeId array(const ArrayLimits& limits);
  NodeId object(const ObjectLimits& limits);

  friend class ObjectRules;
  SchemaFlattener flattener_;
  Grammar& grammar_;
  JsonGrammar json_;
  std::map<std::string, RuleId> rules_;  // by the text of the schema
  std::vector<std::pair<RuleId, SchemaJson>> pending_;
};

}  // namespace smelt::structured
