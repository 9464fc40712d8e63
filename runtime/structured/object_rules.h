// Translation of the constraints of objects to a grammar.
#pragma once

#include "runtime/structured/schema_compiler.h"

namespace smelt::structured {

/// Builds the grammar node of an object. The object's members are the transitions of a graph (a state
/// machine). A state of the graph is a pair: the number of the next property, and the count of members so
/// far.
class ObjectRules {
 public:
  ObjectRules(SchemaCompiler& compiler, const ObjectLimits& limits);

  /// Throws Error (invalid_argument) if the constraints cannot be expressed.
  NodeId node();

 private:
  struct Property {
    NodeId name, value;
    bool is_required;
  };

  void add_properties();
  void add_other_names();
  void add_names(const Language& names, const SchemaJson& schema);
  SchemaJson schema_of(const std::string& name, const SchemaJson& own) const;
  bool is_required(const std::string& name) const;
  void check_counts();
  NodeId member(NodeId name, NodeId value, bool is_first);
  void add_edges(uint32_t property, uint32_t count);
  uint32_t state(uint32_t property, uint32_t count) const { return property * counts_ + count; }

  SchemaCompiler& compiler_;
  Grammar& grammar_;
  JsonGrammar& json_;
  const ObjectLimits& limits_;
  Language names_ = Language::of_lengths(0, kUnbounded);  // names that `propertyNames` allows
  std::vector<Language> patterns_;
  std::vector<Property> properties_;
  std::vector<std::pair<NodeId, NodeId>> others_;  // names and values of members after the properties
  uint32_t counts_ = 2;  // states have counts 0, ..., counts_ - 1; the last is for all larger counts, too
  Graph graph_;
};

}  // namespace smelt::structured
