// Keyword arguments of smelt.compile: the rows of compiler/compile_options.def, with underscores.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/driver/option_table.h"

namespace smelt::python {

/// True and False switch flags; numbers, texts, lists (with commas) and dicts ("K=V") are values; None is
/// nothing. Throws Error naming the option that there is none of, or whose value is not one that it takes.
CompileOptions compile_options(const nanobind::dict& options);
/// All options by name: {"default": None or text, "values": ..., "help": ...}.
nanobind::dict compile_option_rows();

}  // namespace smelt::python
