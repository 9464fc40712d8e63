#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/cli/command_line.h"
#include "compiler/python/bindings.h"
#include "compiler/python/calls.h"

namespace smelt::python {
namespace {

/// Bytes, because words of a command line, such as names of files, need not be UTF-8.
using Words = std::vector<nanobind::bytes>;

std::vector<std::string> strings(const Words& words) {
  std::vector<std::string> all;
  for (const nanobind::bytes& word : words) all.emplace_back(word.c_str(), word.size());
  return all;
}

int command_line(const Words& given, const Words& program) {
  std::vector<std::string> words = strings(given), program_words = strings(program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return released([&] {
    return cli::command_line(static_cast<int>(words.size()), pointers.data(), std::move(program_words));
  });
}

}  // namespace

void bind_command_line(nanobind::module_& module) {
  module.def("command_line", command_line, nanobind::arg("words"), nanobind::arg("program"));
}

}  // namespace smelt::python
