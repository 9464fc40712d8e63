// Places in JSON Schemas, for messages.
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/structured/flat_schema.h"

namespace smelt::structured {

/// An error whose message already has a place in a schema.
class PlacedError : public Error {
 public:
  using Error::Error;
};

/// Returns the JSON pointer, such as "#/properties/a", of the first part of a document that equals `schema`;
/// "" if there is none. Requires: the depth of the document is bounded, as for a result of
/// parse_ordered_json.
std::string place_of(const SchemaJson& schema, const SchemaJson& document);

/// Throws the error again, as a PlacedError with the place of `schema` in `document`. An error that has a
/// place already is thrown unchanged. So is an error whose schema is not in the document. Requires: the
/// caller is in a catch block for `error`.
[[noreturn]] void rethrow_at_place(const Error& error, const SchemaJson& schema, const SchemaJson& document);

}  // namespace smelt::structured
