// Keyword arguments of smelt.compile: they are the options of `smelt compile`, with underscores.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "compiler/cli/compile_arguments.h"

namespace smelt::python {

/// True and False switch flags; numbers, texts, lists (with commas) and dicts ("K=V") are values; None is
/// nothing. Throws Error naming the option that there is none of, or whose value is not one that it takes.
cli::CompileArguments compile_arguments(const nanobind::dict& options);
/// The names of all options.
std::vector<std::string> compile_option_names();

}  // namespace smelt::python
