// Specification of the texts that a request to the server allows the model to generate, such as a JSON
// Schema. The body of the request has the specification in one of these fields: response_format (OpenAI),
// structured_outputs or guided_* (vLLM).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/structured/automaton.h"

namespace smelt::structured {

enum class SpecificationKind : uint8_t {
  json_object,  // any JSON object
  json_schema,  // `text` is the schema
  regex,        // `text` is the expression, which matches the whole text
  choice,       // `text` is a JSON list of texts
  grammar       // `text` is GBNF
};

/// A specification of texts, which is not compiled yet.
struct Specification {
  SpecificationKind kind = SpecificationKind::json_object;
  std::string text;
  uint32_t most_whitespace = kDefaultWhitespace;  // characters between two symbols of JSON
  std::string member;                             // of the request, for messages: "guided_json"

  static constexpr uint32_t kDefaultWhitespace = 20;
  /// Returns a text that is equal for specifications that differ at most in `member`.
  std::string key() const;
};

/// Largest number of bytes of a specification's text.
constexpr size_t kMostSpecificationBytes = size_t{1} << 20;

/// Names of the members of a body that take_specification() reads.
inline constexpr const char* kSpecificationMembers[] = {"response_format", "structured_outputs",
                                                        "guided_json",     "guided_regex",
                                                        "guided_choice",   "guided_grammar"};

/// Removes the members of a specification from the body of a request, and returns the specification. Returns
/// nothing if there is none, or a response_format of type "text". Null members count as missing. Requires:
/// the body is an object that was parsed in the order of its text, because generated JSON objects have their
/// members in the order of the schema's properties. Throws ApiError (400) that names the member if it is
/// wrong or not supported, or both members if there are two specifications. Only compile() checks the text.
std::optional<Specification> take_specification(nlohmann::ordered_json& body);

/// Reads a specification from a JSON object that has one of kSpecificationMembers and no other member.
/// Returns nothing for a response_format of type "text". Throws Error (invalid_argument) naming the fault.
std::optional<Specification> specification_from_json(std::string_view text);

/// Compiles a specification. Throws ApiError (400) with the member and what is wrong with the schema, the
/// expression or the grammar.
std::shared_ptr<const Automaton> compile(const Specification& specification);

}  // namespace smelt::structured
