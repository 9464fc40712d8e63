#include "runtime/structured/specification.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/engine/serving/api_error.h"
#include "runtime/structured/gbnf.h"
#include "runtime/structured/json_schema.h"
#include "runtime/structured/regex.h"
#include "runtime/system/json_members.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {
namespace {

using Ordered = nlohmann::ordered_json;
using Kind = SpecificationKind;

/// Returns the member of the body that a place such as "response_format.type" is in.
std::string member_of(std::string_view place) { return std::string(place.substr(0, place.find('.'))); }

[[noreturn]] void refuse(const std::string& place, const std::string& message,
                         const char* code = "invalid_value") {
  throw ApiError(http::kBadRequest, message, member_of(place), code);
}

[[noreturn]] void refuse_value(const std::string& place, const Ordered& value, std::string_view expected) {
  refuse(place, fmt::format("{} = {}: expected {}", place, brief(Json(value)), expected));
}

/// Returns a member; null if it is missing.
const Ordered& given(const Ordered& object, std::string_view name) {
  static const Ordered kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

void require_object(const std::string& place, const Ordered& value, std::string_view expected) {
  if (!value.is_object()) refuse_value(place, value, expected);
}

void require_known(const std::string& place, const Ordered& object, std::span<const char* const> known) {
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(known, name) == known.end())
      refuse(place, fmt::format("{} has no member '{}'; expected {}", place, name, fmt::join(known, ", ")),
             "unknown_parameter");
}

void require_type(const std::string& place, const Ordered& value, bool holds, std::string_view expected) {
  if (!value.is_null() && !holds) refuse_value(place, value, expected);
}

void require_length(const std::string& place, const std::string& text) {
  if (text.size() > kMostSpecificationBytes)
    refuse(place,
           fmt::format("{} has {} bytes, expected at most {}", place, text.size(), kMostSpecificationBytes));
}

/// Returns a schema, which may be given as the text of one.
Ordered schema_in(const std::string& place, const Ordered& value) {
  Ordered schema = value;
  if (value.is_string()) {
    require_length(place, value.get_ref<const std::string&>());
    try {
      schema = parse_ordered_json(value.get_ref<const std::string&>(), place);
    } catch (const Error& error) {
      refuse(place, error.what());
    }
  }
  if (!schema.is_object() && !schema.is_boolean()) refuse_value(place, value, "a JSON Schema");
  return schema;
}

/// The reader of one body.
class SpecificationReader {
 public:
  explicit SpecificationReader(Ordered& body) : body_(body) {}

  std::optional<Specification> read() {
    refuse_unknown_guides();
    if (const Ordered value = take("response_format"); !value.is_null()) read_response_format(value);
    if (const Ordered value = take("structured_outputs"); !value.is_null()) read_structured_outputs(value);
    for (const auto& [name, kind] : kGuides)
      if (const Ordered value = take(name); !value.is_null()) find(kind, name, value);
    return std::move(found_);
  }

 private:
  static constexpr std::pair<const char*, Kind> kGuides[] = {{"guided_json", Kind::json_schema},
                                                             {"guided_regex", Kind::regex},
                                                             {"guided_choice", Kind::choice},
                                                             {"guided_grammar", Kind::grammar}};

  Ordered take(const char* name) { return take_member(body_, name); }

  void refuse_unknown_guides() const {
    for (const auto& [name, value] : body_.items())
      if (name.starts_with("guided_") &&
          std::ranges::find(kSpecificationMembers, name) == std::end(kSpecificationMembers))
        refuse(
            name,
            fmt::format("there is no option '{}'; expected {}", name, fmt::join(kSpecificationMembers, ", ")),
            "unknown_parameter");
  }

  /// Takes a specification. There may be only one.
  void take_found(Kind kind, const std::string& place, std::string text, uint32_t most_whitespace) {
    if (found_) refuse(place, fmt::format("{} and {}: expected only one of them", found_->member, place));
    require_length(place, text);
    found_ = Specification{kind, std::move(text), most_whitespace, place};
  }

  void find(Kind kind, const std::string& place, const Ordered& value,
            uint32_t most_whitespace = Specification::kDefaultWhitespace) {
    if (kind == Kind::json_schema)
      return take_found(kind, place,
                        schema_in(place, value).dump(-1, ' ', false, Ordered::error_handler_t::replace),
                        most_whitespace);
    if (kind == Kind::choice) {
      const auto is_text = [](const Ordered& each) { return each.is_string(); };
      if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_text))
        refuse_value(place, value, "a list of at least one text");
      return take_found(kind, place, value.dump(-1, ' ', false, Ordered::error_handler_t::replace), 0);
    }
    if (!value.is_string())
      refuse_value(place, value, kind == Kind::regex ? "a regular expression" : "a grammar in GBNF");
    take_found(kind, place, value.get<std::string>(), 0);
  }

  void read_response_format(const Ordered& format) {
    const std::string place = "response_format";
    constexpr std::string_view kTypes = R"("text", "json_object", "json_schema", "regex" or "grammar")";
    require_object(place, format, fmt::format("an object with a type: {}", kTypes));
    const Ordered& type = given(format, "type");
    if (type == "text" || type == "json_object") {
      require_known(place, format, std::array{"type"});
      if (type == "json_object") take_found(Kind::json_object, place, "", Specification::kDefaultWhitespace);
      return;
    }
    if (type == "json_schema") return read_named_schema(format);
    const bool is_regex = type == "regex";
    if (!is_regex && type != "grammar") refuse_value(place + ".type", type, kTypes);
    const char* name = is_regex ? "pattern" : "grammar";
    require_known(place, format, std::array{"type", name});
    find(is_regex ? Kind::regex : Kind::grammar, place + "." + name, given(format, name));
  }

  /// Every schema is enforced, so `strict` has no effect.
  void read_named_schema(const Ordered& format) {
    require_known("response_format", format, std::array{"type", "json_schema"});
    const std::string place = "response_format.json_schema";
    const Ordered& named = given(format, "json_schema");
    require_object(place, named, "an object with a schema");
    require_known(place, named, std::array{"name", "description", "schema", "strict"});
    for (const char* name : {"name", "description"})
      require_type(place + "." + name, given(named, name), given(named, name).is_string(), "a text");
    require_type(place + ".strict", given(named, "strict"), given(named, "strict").is_boolean(),
                 "true or false");
    find(Kind::json_schema, place + ".schema", given(named, "schema"));
  }

  void read_structured_outputs(const Ordered& outputs) {
    const std::string place = "structured_outputs";
    constexpr std::string_view kExpected = "one of json, regex, choice, grammar and json_object";
    require_object(place, outputs, fmt::format("an object with {}", kExpected));
    require_known(place, outputs,
                  std::array{"json", "regex", "choice", "grammar", "json_object", "disable_any_whitespace"});
    const bool is_compact = flag(place, outputs, "disable_any_whitespace");
    const uint32_t whitespace = is_compact ? 0 : Specification::kDefaultWhitespace;
    constexpr std::pair<const char*, Kind> kMembers[] = {{"json", Kind::json_schema},
                                                         {"regex", Kind::regex},
                                                         {"choice", Kind::choice},
                                                         {"grammar", Kind::grammar}};
    bool is_found = false;
    for (const auto& [name, kind] : kMembers)
      if (const Ordered& value = given(outputs, name); !value.is_null())
        find(kind, place + "." + name, value, whitespace), is_found = true;
    if (flag(place, outputs, "json_object"))
      take_found(Kind::json_object, place + ".json_object", "", whitespace), is_found = true;
    if (!is_found) refuse_value(place, outputs, kExpected);
  }

  static bool flag(const std::string& place, const Ordered& object, const char* name) {
    const Ordered& value = given(object, name);
    require_type(place + "." + name, value, value.is_boolean(), "true or false");
    return value == true;
  }

  Ordered& body_;
  std::optional<Specification> found_;
};

Grammar grammar_of(const Specification& specification) {
  const std::string& text = specification.text;
  SchemaOptions options;
  options.layout.most_whitespace = specification.most_whitespace;
  switch (specification.kind) {
    case Kind::json_object:
      return json_value_grammar(options.layout);
    case Kind::json_schema:
      return json_schema_grammar(parse_ordered_json(text, "the schema"), options);
    case Kind::regex:
      return regex_grammar(text);
    case Kind::choice:
      return choice_grammar(parse_json(text, "the choices").get<std::vector<std::string>>());
    case Kind::grammar:
      return parse_gbnf(text);
  }
  fail_with(Status::internal, "structured output: a specification of unknown kind");
}

}  // namespace

std::string Specification::key() const {
  return fmt::format("{} {} {}", static_cast<int>(kind), most_whitespace, text);
}

std::optional<Specification> take_specification(Ordered& body) { return SpecificationReader(body).read(); }

namespace {

/// Returns the JSON object in the text.
Ordered parse_specification(std::string_view text) try {
  Ordered body = parse_ordered_json(text, "the specification");
  if (!body.is_object()) fail("the specification is {}: expected a JSON object", kind_of(Json(body)));
  return body;
} catch (const Error& error) {
  fail("{}", error.what());
}

}  // namespace

std::optional<Specification> specification_from_json(std::string_view text) {
  Ordered body = parse_specification(text);
  if (body.empty()) fail("the specification is empty: expected {}", fmt::join(kSpecificationMembers, " or "));
  std::optional<Specification> found = take_specification(body);
  if (!body.empty())
    fail("the specification: there is no option '{}'; expected {}", body.begin().key(),
         fmt::join(kSpecificationMembers, " or "));
  return found;
}

std::shared_ptr<const Automaton> compile(const Specification& specification) {
  try {
    return compile(grammar_of(specification));
  } catch (const Error& error) {
    refuse(specification.member, fmt::format("{}: {}", specification.member, error.what()));
  }
}

}  // namespace smelt::structured
