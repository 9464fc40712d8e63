// Model families as tables. A table translates between Hugging Face's config.json and a TransformerSpec (the
// "spec"), and between the names of parameters in checkpoints and in the model. For a new family whose blocks
// are all supported, add a file like gpt2.cpp, and list the family in families.cpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/transformer_spec.h"

namespace smelt {

/// One value of a field as it is written in config.json and in the spec, both as JSON text: for example,
/// {"\"gelu_new\"", "\"gelu_tanh\""}. If one value in config.json sets several fields of a group of the spec,
/// such as "norm", then `spec` is a JSON object with these fields.
struct Spelling {
  std::string_view config, spec;
};
using Spellings = const std::vector<Spelling>*;

/// Activation names in the library transformers. If several names have the same value in the spec,
/// config_from_spec() writes the first.
extern const std::vector<Spelling> kActivations;
/// Values of the field problem_type in transformers, and the values of Problem (transformer_spec.h) that they
/// mean.
extern const std::vector<Spelling> kProblems;

/// Maps config.json's field `config` to the spec's field `spec`. Both may be dotted paths.
struct FieldRow {
  std::string_view config, spec;
  bool required = false;          // false: the family's default applies if the field is absent or null
  Spellings spellings = nullptr;  // null: config and spec spell the values alike
  std::vector<std::string_view> also_called = {};  // other names of the field in config.json
  bool counted = false;          // config.json has an object here; the spec has the number of its members
  int64_t plus = 0;              // the spec's number is the config's number plus this
  bool unsaid_if_empty = false;  // 0 or an empty list means the same as no field, and is not written
  /// The spec's value, as JSON text, if the value in config.json is null; empty: the family's default.
  std::string_view null = {};
  /// The value in config.json, as JSON text, that transformers assumes if the field is absent; empty: the
  /// family's default.
  std::string_view implied = {};
};

/// Field of config.json of which only one value is supported, because others change the model's computation.
/// The field may be absent or null. Otherwise it must have the value `value`, or the value of the spec's
/// field `same_as`.
struct FixedRow {
  std::string_view config;
  std::string_view value;                                              // JSON text
  std::string_view same_as = {};                                       // a field of the spec; empty: none
  std::string_view reason = "changes the maths and is not supported";  // in the error message
  std::string_view shown = {};  // member of the field's value that the error message shows; empty: the whole
  std::string_view only_with = {};  // the row applies only if this numeric field is above 1; empty: always
};

/// Name in checkpoints of one module of the model. "{}" in the name is replaced by the number of the block.
/// The module's parameters are "<name>.weight" and "<name>.bias". If the role ends in .weight or .bias,
/// `name` is the whole name of that one parameter.
struct NameRow {
  std::string_view role;  // see frontend/parameter_names.h
  std::string_view name;
  /// transposed: the weight is [in,out] in the checkpoint. bare: the name has none of the family's prefixes.
  enum Flags : unsigned { plain = 0, transposed = 1, bare = 2 };
  unsigned flags = plain;
};

/// Model class of transformers (in config.json's "architectures"), with the spec fields that differ from the
/// family's defaults, as JSON text.
struct Architecture {
  std::string_view name;
  std::string_view defaults = "{}";
  /// Rows that replace the family's rows for the same fields of the spec. Without a name in config.json, the
  /// field has its default.
  std::vector<FieldRow> fields = {};
};

/// Another name, `other`, that transformers accepts for the field `config` of config.json (attribute_map in
/// transformers).
struct Synonym {
  std::string_view other, config;
};

/// Tables of one model family, which config.json names by its "model_type".
struct Family {
  std::string_view model_type;
  std::vector<Architecture> architectures;  // supported ones; config_from_spec() writes the first that fits
  std::string_view defaults;                // spec fields, as JSON text
  std::vector<FieldRow> fields;
  std::vector<Synonym> synonyms = {};
  std::vector<FixedRow> fixed = {};
  std::vector<std::string_view> harmless = {};  // fields that are ignored, whatever their values
  /// Beginnings of checkpoint names. All of them are read; the first one is written.
  std::vector<std::string_view> prefixes;
  std::vector<NameRow> names;
  std::vector<std::string_view> ignored_tensors;  // in checkpoints, without prefix; {} is a number
};

/// Name of the family of specs without a model family. The names of its modules are their roles.
inline constexpr std::string_view kPlainFamily = "transformer";

/// Returns the family of that name; null if there is none.
const Family* find_family(std::string_view model_type);
/// Returns the family names for messages: "gpt2, ...".
std::string known_families();

/// Returns the rows of fields of an architecture of the family.
std::vector<FieldRow> fields_of(const Family& family, const Architecture& architecture);
/// Returns `names` with the rows of `others` in place of those of the same roles.
std::vector<NameRow> renamed(std::vector<NameRow> names, const std::vector<NameRow>& others);
/// Rows of Llama that its relatives share: sizes, norms and tokens, without biases and rotary positions.
extern const std::vector<FieldRow> kLlamaFields;
/// Rows for the biases of all projections of attention.
extern const std::vector<FieldRow> kAttentionBiases;

/// Returns the concatenation of tables, for a family that shares some of its rows with other families.
std::vector<FieldRow> joined(std::initializer_list<std::vector<FieldRow>> parts);
std::vector<NameRow> joined(std::initializer_list<std::vector<NameRow>> parts);
std::vector<FixedRow> joined(std::initializer_list<std::vector<FixedRow>> parts);

/// Returns the rows for the fields of rotary positions, under all their names in config.json.
std::vector<FieldRow> rope_fields();
/// Returns the same rows, and one for the part of each head that is rotated.
std::vector<FieldRow> partial_rope_fields();
/// Fields of rotary positions that are not supported.
extern const std::vector<FixedRow> kRopeFixed;

/// Fields that change the computation in some family and are checked for all families. A family that supports
/// such a field has a FieldRow for it, which takes precedence.
extern const std::vector<FixedRow> kMathsFields;

/// Returns "h.3.ln_1" for "h.{}.ln_1" with 3.
std::string with_number(std::string_view pattern, int64_t number);
/// Returns whether `name` is `pattern` with some number for each {}.
bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace smelt
