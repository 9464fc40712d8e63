// Reading of the keywords of a JSON Schema that do not combine schemas, such as type, enum and minLength.
#pragma once

#include <string_view>

#include "runtime/structured/flat_schema.h"

namespace smelt::structured {

/// Reads all keywords except $ref, allOf, anyOf and oneOf, which combine schemas. Throws Error
/// (invalid_argument) for a keyword that cannot be enforced or has a wrong value.
FlatSchema read_keywords(const SchemaJson& schema);

}  // namespace smelt::structured
