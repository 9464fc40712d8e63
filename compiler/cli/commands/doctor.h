// The capabilities of this machine, and the tools that Smelt found on it.
#pragma once

#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

/// Two columns, what and found. `measure`: the bandwidth of a copy, too, which takes a moment.
TextTable doctor_table(bool measure);

}  // namespace smelt::cli
