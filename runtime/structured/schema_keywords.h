// Reading of the keywords of a JSON Schema that constrain a value by themselves.
#pragma once

#include <string_view>

#include "runtime/structured/flat_schema.h"

namespace smelt::structured {

/// Reads all keywords except $ref, allOf, anyOf and oneOf. Throws Error (invalid_argument) for a keyword that
/// cannot be enforced or has a wrong value.
FlatSchema read_keywords(const SchemaJson& schema);

}  // namespace smelt::structured
