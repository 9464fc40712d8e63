// Compression of report data for pages: lists of alike objects become tables, and lines that occur in several
// texts are stored once. `unpacked` of compiler/report/page/elements.js is the inverse.
#pragma once

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns {"lines": [text], "data": data}, in which
///   a list of two or more objects is {"fields": [name], "words": [null or [text]], "rows": [[value]]}: a
///     field that a row lacks is null, or missing at the end of the row, and where all values of a field are
///     texts, `words` has them and the rows their numbers;
///   a text of several lines is {"lines": [number of a line that occurs elsewhere, too, or text]}.
Json compact(const Json& data);

}  // namespace smelt
