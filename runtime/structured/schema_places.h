// Places in JSON Schemas, for messages. A place is a JSON pointer, such as "#/properties/a".
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/structured/flat_schema.h"

namespace smelt::structured {

/// An error whose message contains a place.
class PlacedError : public Error {
 public:
  using Error::Error;
};

/// Returns the place of the first part of a document that equals `schema`; "" if there is none. Requires: the
/// depth of the document is bounded, as for a result of parse_ordered_json.
std::string place_of(const SchemaJson& schema, const SchemaJson& document);

/// Throws the error again, as a PlacedError with the place of `schema` in `document`. The error is thrown
/// unchanged if it is a PlacedError, or if `schema` is not in the document. Requires: the caller is in a
/// catch block for `error`.
[[noreturn]] void rethrow_at_place(const Error& error, const SchemaJson& schema, const SchemaJson& document);

}  // namespace smelt::structured
