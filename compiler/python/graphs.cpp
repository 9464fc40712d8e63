// Bindings of WrittenGraph. In Python, a value of a graph is a tuple: its number, its element type and its
// shape.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "compiler/python/bindings.h"
#include "compiler/python/sizes.h"
#include "compiler/python/written_graph.h"
#include "runtime/base/error.h"

namespace smelt::python {
namespace {

namespace nb = nanobind;

using TypeOfValue = std::pair<std::string, nb::iterable>;
using Numbers = std::vector<size_t>;

/// A graph, and its values by their numbers in Python.
struct NumberedGraph : WrittenGraph {
  using WrittenGraph::WrittenGraph;

  Value* value(size_t number) const {
    if (number >= values.size()) fail("the graph has {} values, and no value {}", values.size(), number);
    return values[number];
  }
  std::vector<Value*> values_of(const Numbers& numbers) const {
    std::vector<Value*> found;
    for (const size_t number : numbers) found.push_back(value(number));
    return found;
  }
  nb::tuple numbered(Value* made) {
    values.push_back(made);
    return nb::make_tuple(values.size() - 1, std::string(name(made->dtype())), shape_object(made->shape()));
  }

  std::vector<Value*> values;
  const NumberedGraph* around = nullptr;  // of a body: the graph that its node is in
};

Type type_of_value(const TypeOfValue& type) {
  const auto dtype = parse_dtype(type.first);
  if (!dtype) fail("there is no element type '{}'", type.first);
  return {*dtype, sizes_of(type.second)};
}

std::vector<Type> types_of_values(const std::vector<TypeOfValue>& types) {
  std::vector<Type> found;
  for (const TypeOfValue& type : types) found.push_back(type_of_value(type));
  return found;
}

// ---- attributes

/// A list is one of integers, unless one of its numbers is a float.
Attribute list_attribute(const nb::sequence& list) {
  std::vector<int64_t> integers;
  for (nb::handle each : list) {
    if (PyFloat_Check(each.ptr())) return nb::cast<std::vector<double>>(list);
    integers.push_back(nb::cast<int64_t>(each));
  }
  return integers;
}

Attribute attribute_of(nb::handle value) {
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (const auto size = size_of(value)) return stored(*size);
  return list_attribute(nb::cast<nb::sequence>(value));
}

/// Attributes that are None are absent.
Attributes attributes_of_node(const std::string& operation, const nb::dict& given) {
  Attributes attributes;
  for (const auto [key, value] : given) {
    if (!value.is_none())
      set_attribute(attributes, operation, nb::cast<std::string>(key), attribute_of(value));
  }
  return attributes;
}

// ---- methods

nb::tuple add_input(NumberedGraph& graph, const std::string& name, const TypeOfValue& type) {
  return graph.numbered(graph.input(name, type_of_value(type)));
}

void set_range_of_input(NumberedGraph& graph, const std::string& input, int64_t least, int64_t below) {
  graph.set_range(input, {.below = below, .least = least});
}

nb::list add_node(NumberedGraph& graph, const std::string& operation, const Numbers& operands,
                  const nb::dict& attributes, const std::vector<TypeOfValue>& types, NumberedGraph* body) {
  const Node* made = graph.node(operation, graph.values_of(operands),
                                attributes_of_node(operation, attributes), types_of_values(types), body);
  nb::list results;
  for (const auto& result : made->results()) results.append(graph.numbered(result.get()));
  return results;
}

std::string graph_text(const NumberedGraph& graph, const std::string& name,
                       const std::vector<std::pair<std::string, size_t>>& results) {
  std::vector<Graph::Output> outputs;
  for (const auto& [output, number] : results) outputs.push_back({output, graph.value(number)});
  return graph.text(name, std::move(outputs));
}

void make_body(NumberedGraph* body, NumberedGraph& around, const std::vector<TypeOfValue>& given) {
  new (body) NumberedGraph(around, types_of_values(given));
  body->around = &around;
}

nb::tuple argument_of_body(NumberedGraph& body, size_t outside) {
  if (!body.around) fail("a graph takes no arguments of a node: only its body does");
  return body.numbered(body.argument(body.around->value(outside)));
}

/// Returns the inputs of a new body, which the node computes.
nb::list given_to_body(NumberedGraph& body) {
  nb::list given;
  for (Value* input : body.inputs()) given.append(body.numbered(input));
  return given;
}

nb::tuple scalar_operation(const ScalarOpInfo& row) {
  const std::string_view domain = row.domain == Domain::reals   ? "reals"
                                  : row.domain == Domain::flags ? "flags"
                                                                : "";
  return nb::make_tuple(std::string(row.name), std::string(domain), row.flag, row.differentiable);
}

/// Returns a tuple for each row of scalar_ops.def: its name, the domain of its operands, whether its result
/// is a flag, and whether it has a derivative. Only domains of reals or flags alone have a name.
nb::list scalar_operations() {
  nb::list rows;
#define SMELT_ROW(name, ...) rows.append(scalar_operation(info(ScalarOp::name)));
  SMELT_SCALAR_OPS(SMELT_ROW)
#undef SMELT_ROW
  return rows;
}

}  // namespace

void bind_graphs(nb::module_& module) {
  nb::class_<NumberedGraph>(module, "GraphBuilder")
      .def(nb::init<>())
      .def("__init__", make_body, nb::arg("around"), nb::arg("given"), nb::keep_alive<1, 2>())
      .def_prop_ro("is_body", &NumberedGraph::is_body)
      .def_prop_rw("source", &NumberedGraph::source, &NumberedGraph::set_source)
      .def("given", given_to_body)
      .def("input", add_input, nb::arg("name"), nb::arg("type"))
      .def("set_range", set_range_of_input, nb::arg("input"), nb::arg("least"), nb::arg("below"))
      .def("argument", argument_of_body)
      .def("node", add_node, nb::arg("operation"), nb::arg("operands"), nb::arg("attributes"),
           nb::arg("types"), nb::arg("body") = nb::none())
      .def("returns",
           [](NumberedGraph& body, const Numbers& numbers) { body.returns(body.values_of(numbers)); })
      .def("text", graph_text, nb::arg("name"), nb::arg("results"));
  module.def("scalar_operations", scalar_operations);
}

}  // namespace smelt::python
