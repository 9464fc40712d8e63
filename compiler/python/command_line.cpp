#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compiler/cli/command_line.h"
#include "compiler/python/bindings.h"
#include "compiler/python/calls.h"

namespace smelt::python {
namespace {

int command_line(std::vector<std::string> words, const std::vector<std::string>& program) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return released(
      [&] { return cli::command_line(static_cast<int>(words.size()), pointers.data(), program); });
}

}  // namespace

void bind_command_line(nanobind::module_& module) {
  module.def("command_line", command_line, nanobind::arg("words"), nanobind::arg("program"));
}

}  // namespace smelt::python
