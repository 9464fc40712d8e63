// TransformerSpec as JSON: one table of fields gives reading, writing and the checks of types and bounds.
#include "frontend/transformer_spec.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/families/families.h"
#include "frontend/spec_values.h"
#include "ir/text/names.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

// Sizes fit i32, the type of token ids, positions and strides in tensors of one layer.
constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;
// Decisions have 16 bits: 65536 / (65536 - round(65536 p)) must stay finite.
constexpr double kLargestDropout = 0.999;

struct Field {
  std::string_view name;
  Json (*get)(const TransformerSpec&);
  std::string (*set)(TransformerSpec&, const Json&);  // what is wrong; empty: nothing
};

constexpr Field kFields[] = {
#define SMELT_SPEC_FIELD(member, low, high)                                                     \
  {#member, [](const TransformerSpec& spec) -> Json { return spec_value::write(spec.member); }, \
   [](TransformerSpec& spec, const Json& json) { return spec_value::read(json, spec.member, low, high); }},
#include "frontend/spec_fields.def"
};

const Field* find_field(std::string_view name) {
  const Field* field = llvm::find_if(kFields, [&](const Field& f) { return f.name == name; });
  return field == std::end(kFields) ? nullptr : field;
}

/// A group is the text before a dot: "decoder".
bool is_group(std::string_view name) {
  return llvm::any_of(kFields, [&](const Field& f) {
    return f.name.size() > name.size() && f.name.starts_with(name) && f.name[name.size()] == '.';
  });
}

std::string unknown_key(std::string_view name) {
  std::vector<std::string> names;
  for (const Field& field : kFields) {
    const std::string group(field.name.substr(0, field.name.find('.')));
    if (group != field.name && !llvm::is_contained(names, group)) names.push_back(group);
    names.emplace_back(field.name);
  }
  return "unknown key" + did_you_mean(name, names);
}

void read_object(const Json& json, const std::string& prefix, TransformerSpec& spec,
                 std::vector<SpecProblem>& problems) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = prefix + key;
    if (const Field* field = find_field(name)) {
      if (std::string text = field->set(spec, value); !text.empty())
        problems.push_back({name, std::move(text)});
    } else if (!is_group(name)) {
      problems.push_back({name, unknown_key(name)});
    } else if (value.is_object()) {
      read_object(value, name + ".", spec, problems);
    } else {
      problems.push_back({name, fmt::format("{}, expected an object", brief(value))});
    }
  }
}

/// Returns the defaults of the named family. Its special tokens belong to a vocabulary that a spec does not
/// name.
TransformerSpec family_defaults(const Json& json) {
  TransformerSpec spec;
  const Json* name = find_path(json, "family");
  const Family* family =
      name && name->is_string() ? find_family(name->get_ref<const std::string&>()) : nullptr;
  if (!family) return spec;
  std::vector<SpecProblem> ignored;
  read_object(Json::parse(family->defaults), "", spec, ignored);
  spec.tokens = {};
  return spec;
}

}  // namespace

Json to_json(const TransformerSpec& spec) {
  Json json = Json::object();
  for (const Field& field : kFields) make_path(json, field.name) = field.get(spec);
  return json;
}

void read_spec(const Json& json, TransformerSpec& spec, std::vector<SpecProblem>& problems) {
  if (!json.is_object()) {
    problems.push_back({"", fmt::format("{}, expected an object", brief(json))});
    return;
  }
  read_object(json, "", spec, problems);
  complete(spec);
  // A field whose value was refused still holds its default, so that complaints about it would mislead.
  const std::vector<SpecProblem> refused = problems;
  for (SpecProblem& problem : problems_of(spec)) {
    const bool known = llvm::any_of(refused, [&](const SpecProblem& r) { return r.field == problem.field; });
    if (!known) problems.push_back(std::move(problem));
  }
}

TransformerSpec spec_from_json(std::string_view text, std::string_view file) {
  return spec_from_object(parse_json(text, file), file);
}

TransformerSpec spec_from_object(const Json& json, std::string_view file) {
  std::vector<SpecProblem> problems;
  TransformerSpec spec = family_defaults(json);
  read_spec(json, spec, problems);
  if (!problems.empty()) fail_with_problems(file, problems);
  return spec;
}

void fail_with_problems(std::string_view file, const std::vector<SpecProblem>& problems) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : problems)
    lines.push_back(problem.field.empty() ? problem.text
                                          : fmt::format("{}: {}", problem.field, problem.text));
  fail_with(Status::invalid_file, "{}: {} problem{}\n  {}", file, lines.size(), lines.size() == 1 ? "" : "s",
            fmt::join(lines, "\n  "));
}

const Json* find_path(const Json& json, std::string_view path) {
  const Json* at = &json;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    const auto it = at->find(std::string(path.substr(0, dot)));
    if (it == at->end()) return nullptr;
    at = &*it;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

Json& make_path(Json& json, std::string_view path) {
  Json* at = &json;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    at = &(*at)[std::string(path.substr(0, dot))];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return *at;
}

}  // namespace smelt
