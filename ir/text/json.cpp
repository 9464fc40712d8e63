#include "ir/text/text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/text/names.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Numbers stay numbers (JSON knows no infinity: those are strings), sizes and initializers become text.
struct AttributeJson {
  OrderedJson operator()(bool v) const { return v; }
  OrderedJson operator()(int64_t v) const { return v; }
  OrderedJson operator()(double v) const {
    return std::isfinite(v) ? OrderedJson(v) : OrderedJson(str(Attribute(v)));
  }
  OrderedJson operator()(const std::string& v) const { return v; }
  OrderedJson operator()(const Dim& v) const { return v.str(); }
  OrderedJson operator()(const std::vector<int64_t>& v) const { return v; }
  OrderedJson operator()(const std::vector<double>& v) const {
    OrderedJson list = OrderedJson::array();
    for (double x : v) list.push_back((*this)(x));
    return list;
  }
  OrderedJson operator()(const Initializer& v) const { return str(v); }
};

OrderedJson type_json(DType dtype, const Shape& shape) {
  OrderedJson sizes = OrderedJson::array();
  for (const Dim& dim : shape)
    sizes.push_back(dim.constant() ? OrderedJson(*dim.constant()) : OrderedJson(dim.str()));
  return {{"type", str(Type{dtype, shape})}, {"dtype", name(dtype)}, {"shape", std::move(sizes)}};
}

OrderedJson graph_json(const Graph& graph);

OrderedJson node_json(const Node& node, const ValueNames& names) {
  OrderedJson result{{"op", node.mnemonic()}};
  if (node.is(Op::reduce)) result["reduce"] = name(node.reduce_op);
  if (!node.source.empty()) result["source"] = node.source;
  if (node.phase != Phase::forward) result["phase"] = name(node.phase);
  if (node.anchored) result["anchored"] = true;
  result["operands"] = OrderedJson::array();
  for (const Value* operand : node.operands()) result["operands"].push_back("%" + names[operand]);
  result["results"] = OrderedJson::array();
  for (const auto& value : node.results()) {
    OrderedJson each{{"name", "%" + names[value.get()]}};
    each.update(type_json(value->dtype(), value->shape()));
    if (value->sharding) each["on"] = str(*value->sharding, node.graph().module().mesh());
    result["results"].push_back(std::move(each));
  }
  result["attributes"] = OrderedJson::object();
  for (const auto& [key, value] : node.attributes)
    result["attributes"][key] = std::visit(AttributeJson{}, value);
  if (node.body) result["body"] = graph_json(*node.body);
  return result;
}

OrderedJson graph_json(const Graph& graph) {
  const ValueNames names(graph);
  OrderedJson result{
      {"name", graph.name}, {"nodes", OrderedJson::array()}, {"outputs", OrderedJson::array()}};
  for (const auto& node : graph.nodes()) result["nodes"].push_back(node_json(*node, names));
  for (const Graph::Output& output : graph.outputs)
    result["outputs"].push_back({{"name", output.name}, {"value", "%" + names[output.value]}});
  return result;
}

OrderedJson parameter_json(const Module::Parameter& parameter) {
  OrderedJson result{{"name", parameter.name}};
  result.update(type_json(parameter.type.dtype, parameter.type.shape));
  result.update(OrderedJson{{"init", str(parameter.init)}, {"decay", parameter.decay}});
  return result;
}

OrderedJson state_json(const State& state) {
  OrderedJson result{{"name", state.name}, {"role", name(state.role)}};
  result.update(type_json(state.dtype, state.shape));
  if (!state.copy_of.empty()) result["copy_of"] = state.copy_of;
  if (!state.scales_of.empty()) result["scales_of"] = state.scales_of;
  if (!state.zeros_of.empty()) result["zeros_of"] = state.zeros_of;
  if (!state.format.empty()) result["format"] = state.format;
  if (state.from_model) result["from_model"] = true;
  if (state.resident >= 0) result["resident"] = state.resident;
  for (const Segment& segment : state.segments)
    result["segments"].push_back(
        {{"name", segment.name}, {"shape", segment.shape}, {"offset", segment.offset}});
  return result;
}

/// Bytes that are no UTF-8 are replaced, never thrown over.
std::string dump(const OrderedJson& json) {
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json(const Graph& graph) { return dump(graph_json(graph)); }

std::string json(const Module& module) {
  OrderedJson result{{"symbols", OrderedJson::array()},
                     {"parameters", OrderedJson::array()},
                     {"states", OrderedJson::array()},
                     {"graphs", OrderedJson::array()}};
  for (const MeshAxis& axis : module.mesh().axes)
    result["mesh"].push_back({{"axis", axis.name}, {"size", axis.size}});
  for (const Symbols::Bound& bound : module.symbols.bounds()) {
    OrderedJson symbol{{"factors", bound.factors}, {"upper", bound.upper}};
    if (bound.lower > 1) symbol["lower"] = bound.lower;
    result["symbols"].push_back(std::move(symbol));
  }
  for (const auto& parameter : module.parameters) result["parameters"].push_back(parameter_json(parameter));
  if (!module.adjacent.empty()) result["adjacent"] = module.adjacent;
  for (const State& state : module.states) result["states"].push_back(state_json(state));
  for (const auto& graph : module.graphs) result["graphs"].push_back(graph_json(*graph));
  return dump(result);
}

}  // namespace smelt
