// Model families as data: spelling of a TransformerSpec in config.json, and names of parameters in
// checkpoints. A new family of known parts needs one more table file next to gpt2.cpp, its declaration, and
// its entry in families.cpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// Value in the spellings of config.json and of the spec, both as JSON text: {"\"gelu_new\"",
/// "\"gelu_tanh\""}. If one value sets several fields of a group, the spec's side is an object of them.
struct Spelling {
  std::string_view config, spec;
};
using Spellings = const std::vector<Spelling>*;

/// Activation names of transformers; the first spelling of a spec value is the one to write.
extern const std::vector<Spelling> kActivations;
/// Names in transformers for the problem types of a classification head.
extern const std::vector<Spelling> kProblems;

/// Maps config.json's field `config` to the spec's field `spec`. Both may be dotted paths.
struct FieldRow {
  std::string_view config, spec;
  bool required = false;                           // false: the family's default applies, also for null
  Spellings spellings = nullptr;                   // null: the values are the same
  std::vector<std::string_view> also_called = {};  // other dialects of the same field
  bool counted = false;                            // the spec holds how many entries the object has
  int64_t plus = 0;                                // spec = config + plus
  bool unsaid_if_empty = false;   // what is empty means the same as an absent field, and is not written
  std::string_view null = {};     // JSON text: the spec's value that null means, if not the default
  std::string_view implied = {};  // JSON text: what transformers takes where the config is silent, likewise
};

/// Field that changes the maths and is accepted only if it changes nothing: absent, null, with this value, or
/// with the value of another field.
struct FixedRow {
  std::string_view config;
  std::string_view value;         // JSON text
  std::string_view same_as = {};  // a field of the spec whose value changes nothing here either
  std::string_view reason = "changes the maths and is not supported";
  std::string_view shown = {};      // the member of the value that a message shows, if not all of it
  std::string_view only_with = {};  // a numeric field that has to be above 1 for this one to count
};

/// Names of the parameters "<name>.weight" and "<name>.bias" of one module of the model; {} is the number of
/// the block. A role that ends in .weight or .bias names one parameter whose checkpoint name does not follow
/// the pattern.
struct NameRow {
  std::string_view role;  // see frontend/parameter_names.h
  std::string_view name;
  enum Flags : unsigned {
    plain = 0,
    transposed = 1,
    bare = 2
  };  // [in,out] in the checkpoint; without the prefix
  unsigned flags = plain;
};

/// Architecture class of transformers: spec fields in JSON that override those of the family.
struct Architecture {
  std::string_view name;
  std::string_view defaults = "{}";
};

/// Another name of a field, by which transformers sets the field (its attribute_map).
struct Synonym {
  std::string_view other, config;
};

struct Family {
  std::string_view model_type;
  std::vector<Architecture> architectures;  // those that are built; the first is written for a new model
  std::string_view defaults;                // spec fields, as JSON text
  std::vector<FieldRow> fields;
  std::vector<Synonym> synonyms = {};
  std::vector<FixedRow> fixed = {};
  std::vector<std::string_view> harmless = {};  // fields that change nothing here whatever they hold
  std::vector<std::string_view> prefixes;       // of checkpoint names; the first is written
  std::vector<NameRow> names;
  std::vector<std::string_view> ignored_tensors;  // buffers of checkpoints, without prefix; {} is a number
};

/// Family of specs written by hand: the name of a parameter is its role.
inline constexpr std::string_view kPlainFamily = "transformer";

/// Returns null if there is none.
const Family* find_family(std::string_view model_type);
/// Returns the family names for messages: "gpt2, ...".
std::string known_families();

/// Joins tables: rows that several families share, and a family's own.
std::vector<FieldRow> joined(std::initializer_list<std::vector<FieldRow>> parts);
std::vector<NameRow> joined(std::initializer_list<std::vector<NameRow>> parts);

/// Returns rows of rotary positions in every spelling, and related fields that are not supported.
std::vector<FieldRow> rope_fields();
extern const std::vector<FixedRow> kRopeFixed;

/// Fields that change the maths in some family, and the values with which they do not. A family that supports
/// such a field has its own row for it.
extern const std::vector<FixedRow> kMathsFields;

/// Returns "h.3.ln_1" for "h.{}.ln_1" with 3.
std::string with_number(std::string_view pattern, int64_t number);
/// Returns whether `name` is `pattern` with some number for each {}.
bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace smelt
