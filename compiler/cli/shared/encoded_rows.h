// Encoding of files of rows, in parallel and in constant memory, with a cache of the results.
#pragma once

#include <filesystem>
#include <memory>

#include "compiler/cli/shared/row_encoder.h"
#include "frontend/data/rows.h"
#include "runtime/engine/data/example_set.h"

namespace smelt::cli {

/// Treatment of rows that are not valid: stop with an error, or skip and count them.
enum class BadRows : uint8_t { stop, skip };

/// Encodes all rows of a file. The result is stored in the cache directory, under a key of the file's bytes
/// and the encoder's key, and is taken from there the next time; that of standard input is not kept. Throws
/// the RowError of the first row that is not valid if BadRows::stop, and Error if the file has no valid row.
std::shared_ptr<const ExampleSet> encode_rows(const std::filesystem::path& file, RowFormat format,
                                              const RowEncoder& encoder, BadRows bad_rows);

}  // namespace smelt::cli
