// Options whose values differ between a resumed run and the run before it.
#pragma once

#include <string>

#include "runtime/system/json_text.h"

namespace smelt::cli {

/// Names the options of `train` that change what is computed and differ between two train.json, with both
/// values: "clip 1 -> 3, lora none -> r=4". Options that the trainer itself compares, and those of reports,
/// files and speed, are left out. Empty where none differs.
std::string changed_options(const Json& before, const Json& now);

}  // namespace smelt::cli
