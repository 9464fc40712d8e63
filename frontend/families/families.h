// A family of models is data: how config.json spells a TransformerSpec, and how checkpoints name its
// parameters. A new family of known parts is one more table file beside gpt2.cpp, its declaration and
// its place in families.cpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// A value as config.json spells it and as the spec does, both as JSON text: {"\"gelu_new\"",
/// "\"gelu_tanh\""}. Where one value sets several fields of a group, the spec's side is an object of them.
struct Spelling {
  std::string_view config, spec;
};
using Spellings = const std::vector<Spelling>*;

/// The activation names of transformers; the first spelling of a spec value is the one to write.
extern const std::vector<Spelling> kActivations;
/// Their names for the problem types of a head over classes.
extern const std::vector<Spelling> kProblems;

/// config.json's field `config` holds the spec's field `spec`. Both may be dotted paths.
struct FieldRow {
  std::string_view config, spec;
  bool required = false;                           // otherwise the family's default stands, also for null
  Spellings spellings = nullptr;                   // null: the values are the same
  std::vector<std::string_view> also_called = {};  // other dialects of the same field
  bool counted = false;                            // the spec holds how many entries the object has
  int64_t plus = 0;                                // spec = config + plus
  bool unsaid_if_empty = false;   // what is empty means the same as an absent field, and is not written
  std::string_view null = {};     // JSON text: the spec's value that null stands for, if not the default
  std::string_view implied = {};  // JSON text: what transformers takes where the config is silent, likewise
};

/// A field that changes the maths and is accepted only where it changes nothing: absent, null, with this
/// value, or with the value of another field.
struct FixedRow {
  std::string_view config;
  std::string_view value;         // JSON text
  std::string_view same_as = {};  // a field of the spec whose value changes nothing here either
  std::string_view reason = "changes the maths and is not supported";
  std::string_view shown = {};      // the member of the value that a message shows, if not all of it
  std::string_view only_with = {};  // a numeric field that has to be above 1 for this one to count
};

/// Parameters "<name>.weight" and "<name>.bias" of one module of the model; {} is the number of the block.
/// A role that ends in .weight or .bias names one parameter whose checkpoint name does not follow the
/// pattern.
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

/// An architecture class of transformers: what it adds to the family's stacks, as spec fields in JSON that
/// override the family's.
struct Architecture {
  std::string_view name;
  std::string_view defaults = "{}";
};

struct Family {
  std::string_view model_type;
  std::vector<Architecture> architectures;  // those that are built; the first is written for a new model
  std::string_view defaults;                // spec fields, as JSON text
  std::vector<FieldRow> fields;
  std::vector<FixedRow> fixed = {};
  std::vector<std::string_view> harmless = {};  // fields that change nothing here whatever they hold
  std::vector<std::string_view> prefixes;       // of checkpoint names; the first is written
  std::vector<NameRow> names;
  std::vector<std::string_view> ignored_tensors;  // buffers of checkpoints, without prefix; {} is a number
};

/// The family of specs written by hand: a parameter is called by its role.
inline constexpr std::string_view kPlainFamily = "transformer";

/// Null where there is none.
const Family* find_family(std::string_view model_type);
/// "gpt2, ...": for messages.
std::string known_families();

/// Rows that several families share: a table is a list of them and of its own.
std::vector<FieldRow> joined(std::initializer_list<std::vector<FieldRow>> parts);
std::vector<NameRow> joined(std::initializer_list<std::vector<NameRow>> parts);

/// Rows of rotary positions in every spelling, and fields beside them that are not supported.
std::vector<FieldRow> rope_fields();
extern const std::vector<FixedRow> kRopeFixed;

/// Fields that change the maths in some family, and the values with which they do not. A family that supports
/// such a field has a row of its own for it.
extern const std::vector<FixedRow> kMathsFields;

/// "h.{}.ln_1" with 3 is "h.3.ln_1".
std::string with_number(std::string_view pattern, int64_t number);
/// True where `name` is `pattern` with some number for each {}.
bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace smelt
