// Places in JSON Schemas, for messages.
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/structured/flat_schema.h"

namespace smelt::structured {

/// An error whose message has the place in the schema already.
class PlacedError : public Error {
 public:
  using Error::Error;
};

/// Returns the JSON pointer, such as "#/properties/a", of the first part of a document that equals `schema`;
/// "" if there is none. Requires: the depth of the document is bounded, as that of parse_ordered_json is.
std::string place_of(const SchemaJson& schema, const SchemaJson& document);

/// Throws the error again, with the place of the schema that it is about. An error that has a place, or for
/// which there is none, is thrown unchanged. Requires: a handler of the error calls this.
[[noreturn]] void rethrow_at_place(const Error& error, const SchemaJson& schema, const SchemaJson& document);

}  // namespace smelt::structured
